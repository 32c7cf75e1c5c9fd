// File: client/python/core/connection.h
//
// The client library's objects as objects of Python. Their destructors may wait, and give up the
// GIL for that. Everything here needs the GIL.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_CONNECTION_H_
#define OPSERVE_CLIENT_PYTHON_CORE_CONNECTION_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/python/core/calls.h"
#include "client/python/core/forks.h"
#include "client/python/core/leased_device.h"
#include "client/python/core/pending_call.h"
#include "client/python/core/regions.h"
#include "client/python/core/resident.h"
#include "client/python/core/sequence_builder.h"
#include "opserve/client.h"
#include "opserve/stream.h"

namespace opserve::python {

// CompletedCalls with their owner in Python.
class CompletionQueue {
 public:
  CompletionQueue() : calls_(std::make_shared<CompletedCalls>()) {}
  ~CompletionQueue() {
    if (!IsForked()) calls_->Close();
  }
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  const std::shared_ptr<CompletedCalls>& calls() const { return calls_; }

 private:
  const std::shared_ptr<CompletedCalls> calls_;
};

// Where the end of a call is told; both null: nowhere.
CompletionTarget TargetOf(const CompletionQueue* queue, nanobind::handle token);

// A stream that keeps its client.
class StreamObject {
 public:
  StreamObject(std::shared_ptr<Client> client, std::shared_ptr<const Regions> regions,
               std::shared_ptr<ExecuteStream> stream)
      : client_(std::move(client)), regions_(std::move(regions)), stream_(std::move(stream)) {}

  std::unique_ptr<PendingCall> Start(const MethodArguments& arguments, CompletionTarget target);
  StepValue AddStep(StepSequence& sequence, const MethodArguments& arguments);
  std::unique_ptr<PendingCall> StartSequence(StepSequence& sequence, const nanobind::dict& settings,
                                             CompletionTarget target);
  // Waits for the calls under way. Throws what broke the stream.
  void Finish(absl::Duration timeout);

 private:
  const std::shared_ptr<Client> client_;
  const std::shared_ptr<const Regions> regions_;
  const std::shared_ptr<ExecuteStream> stream_;
};

// A connection to a server.
class Connection {
 public:
  Connection(const std::string& target, const ClientOptions& options);

  // Gives the connection up once no call, stream or tensor of it is left; waits for calls in
  // flight.
  void Close();
  // Throws BadArguments once it was closed, and in forked processes. Whoever has it keeps it while
  // it is closed.
  std::shared_ptr<Client> client() const;

  nanobind::object Run(const MethodArguments& arguments);
  std::unique_ptr<PendingCall> Start(const MethodArguments& arguments, CompletionTarget target);
  std::unique_ptr<StreamObject> OpenStream(const StreamOptions& options);
  StepValue AddStep(StepSequence& sequence, const MethodArguments& arguments);
  std::unique_ptr<PendingCall> StartSequence(StepSequence& sequence, const nanobind::dict& settings,
                                             CompletionTarget target);
  std::unique_ptr<ResidentTensor> CreateTensor(nanobind::handle array,
                                               const ResidentOptions& options);
  std::unique_ptr<ResidentTensor> CreateZeros(nanobind::handle shape, nanobind::handle dtype,
                                              const ResidentOptions& options);
  std::unique_ptr<RegionArrays> CreateRegion(uint64_t bytes);
  std::unique_ptr<LeasedDevice> LeaseDevice(const DeviceLeaseOptions& options,
                                            absl::Duration limit);
  // All operators, or those of that name, at a feature level or, where that is empty, the highest.
  std::vector<OperatorInfo> ListOperators(const std::string& name,
                                          const std::string& feature_level);
  ServerInfo GetServerInfo();
  // Whether the server serves.
  bool IsServing();

 private:
  std::shared_ptr<Client> client_;
  const std::shared_ptr<Regions> regions_ = std::make_shared<Regions>();
};

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_CONNECTION_H_
