// File: server/tensors/tensor_service.h
//
// The methods of OperatorService that concern resident tensors.

#ifndef OPSERVE_SERVER_TENSORS_TENSOR_SERVICE_H_
#define OPSERVE_SERVER_TENSORS_TENSOR_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "kernels/validate.h"
#include "proto/base/host_buffers.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/task_thread.h"
#include "server/pool/device_pool.h"
#include "server/resident/tensor_store.h"
#include "server/rpc/rpc_service.h"
#include "server/rpc/unary_call.h"
#include "server/tensors/queued_call.h"

namespace opserve {

struct TensorServiceOptions {
  TensorLimits limits;
  ValidationLimits validation;
  // Largest message in bytes, in each direction.
  uint64_t max_message_bytes = uint64_t{257} << 20;
};

// Keeps the tensors and answers calls about them. Whatever takes as long as copying a large tensor
// is done in a thread of its own, and what may wait for a device in another one. Must outlive the
// calls.
class TensorService {
 public:
  // All must outlive the service.
  TensorService(const TensorServiceOptions& options, const Clock& clock, Admission& admission,
                const DevicePool& pool, HostBufferPool& buffers);

  // Adds the methods to `rpc`: those with payloads with the limits of `message`, the others with
  // those of `control`, and room for the handles.
  void AddTo(RpcService& rpc, const MethodLimits& message, const MethodLimits& control);

  TensorStore& store() { return store_; }

 private:
  void Create(UnaryCall& call);
  void Write(UnaryCall& call);
  void Read(UnaryCall& call);
  void Renew(UnaryCall& call);
  void Delete(UnaryCall& call);
  void List(UnaryCall& call);

  // The most handles that one request may name.
  size_t MostHandles() const;
  // INVALID_REQUEST for more.
  absl::Status CheckHandles(int count) const;

  // Runs a task of the call that handles so many bytes, here or in the thread.
  void Run(QueuedCall& state, uint64_t bytes, std::function<void()> task);
  // The same for a task that looks at `tensor`, which may be unread.
  void RunOn(const ResidentTensor& tensor, QueuedCall& state, std::function<void()> task);
  // Finishes the call with the error of `attempt`, which finishes it where it succeeds. Where there
  // is no room for what it does, it is made again once nothing of the client is unread: what unread
  // results may have to be computed from counts, too.
  void TryTwice(QueuedCall& state, const std::function<absl::Status()>& attempt);

  const TensorServiceOptions options_;
  const Clock& clock_;
  Admission& admission_;
  const DevicePool& pool_;
  TensorStore store_;
  // Destroyed after the thread that passes tasks on to it.
  TaskThread reads_;
  TaskThread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_TENSOR_SERVICE_H_
