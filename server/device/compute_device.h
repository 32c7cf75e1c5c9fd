// File: server/device/compute_device.h
//
// What runs operators: the seam between the server and its devices.

#ifndef OPSERVE_SERVER_DEVICE_COMPUTE_DEVICE_H_
#define OPSERVE_SERVER_DEVICE_COMPUTE_DEVICE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/invocation.h"
#include "kernels/sequence.h"
#include "kernels/tensor_bytes.h"
#include "server/device/arriving_inputs.h"

namespace opserve {

enum class DeviceKind : uint8_t { kCpu, kGpu };

// What a device is. Constant for the life of the server.
struct DeviceProfile {
  DeviceKind kind = DeviceKind::kCpu;
  // Unique among the devices of a server, as responses tell it: "cpu/AVX3_DL", "d3d12/NVIDIA H100".
  std::string name;
  // The processor or adapter, in words.
  std::string description;
  // What stands between opserve and the hardware: "vkd3d"; empty for the processor.
  std::string runtime;
  // The driver and its version; empty for the processor.
  std::string driver;
  // Direct3D feature level, "11_0"; empty for the processor.
  std::string feature_level;
  // Bytes of memory that it has to itself; 0: it works in the machine's memory.
  uint64_t memory_bytes = 0;
  // A GPU whose work is done by the processor.
  bool is_software = false;
  // Threads that one call is spread over at most (processor).
  int threads = 0;
};

// What a device has to know of a result that goes to a tensor whose content it may keep copies of.
struct ResultContent {
  // An id that nothing has yet: a device that runs the call may keep a copy of its result under it.
  // kNoContent: it need not.
  ContentId id = kNoContent;
  // What the tensor holds until then: a copy of it will hardly be used again.
  ContentId replaced = kNoContent;
  // Given where the host can do without the bytes for now. A run that succeeds may then keep the
  // result, leave the output as it is, and set this to true; see ComputeDevice::Read.
  bool* stays = nullptr;
  // Whether what stays cannot be computed again: a device keeps it until Release, or hands it over.
  bool is_volatile = false;
};

// A sequence of operators: what to compute, and where the bytes are.
struct SequenceCall {
  const SequenceInvocation* sequence = nullptr;
  // One per input, of sequence->input_bytes[i] bytes.
  std::vector<TensorBytes> inputs = {};
  // One pointer per output, to sequence->output_bytes(i) bytes that overlap no other tensor.
  std::vector<std::byte*> outputs = {};
  // One per output, or none.
  std::vector<ResultContent> contents = {};
  // Set, at any time, once nobody waits for the results any more; nullptr: it never is.
  const std::atomic<bool>* stop = nullptr;
};

// One call of an operator: what to compute, and where the bytes are.
struct DeviceCall {
  const Invocation* invocation = nullptr;
  // One per input of the operator, in its order (nothing where it is absent), each of
  // invocation->input_bytes[i] bytes.
  std::array<TensorBytes, kMaxInputs> inputs = {};
  // invocation->output_bytes bytes that overlap no input of any call. nullptr: the result takes the
  // place of the bytes of input `in_place`, which are writable; only for the processor, and only
  // where CanRunInPlace.
  std::byte* output = nullptr;
  int in_place = 0;
  // Where the inputs still come, which lie in one piece each then; nullptr: they are there. Only
  // for the processor, and only for a packed call with an output.
  ArrivingInputs* arriving = nullptr;
  ResultContent content = {};
  // A sequence in place of one operator: then nothing above is set.
  const SequenceCall* sequence = nullptr;
  // Every result is to be handed over, also where it might stay.
  bool hands_over = false;
};

// What a device did to have inputs in its own memory. It keeps copies of tensors with a ContentId.
struct TransferCounters {
  // Bytes of its memory that all that it holds for calls may take now; 0 where it has none of its
  // own.
  uint64_t budget_bytes = 0;
  // Bytes of its memory that the copies take now.
  uint64_t kept_bytes = 0;
  // Counted since it was made; proto/opserve/device_counters.def tells what each counter counts.
#define OPSERVE_TRANSFER_COUNTER(NAME) uint64_t NAME = 0;
#include "proto/opserve/device_counters.def"
};

// Thread-safe.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;

  virtual const DeviceProfile& profile() const = 0;

  // Whether it has a kernel for the operator in this lane type.
  virtual bool Supports(OpId op, DataType lane) const = 0;

  // Computes `calls`, at least one, all of the same lane (server/device/lane_key.h), a sequence by
  // itself, and writes every byte of each output. Where it fails, the outputs hold nothing of use,
  // and the calls may run again, here or elsewhere:
  //   UNIMPLEMENTED       no kernel for them, or a tensor too large for this device
  //   OUT_OF_RANGE        a result is nearer to the middle of two elements than its digits tell
  //   RESOURCE_EXHAUSTED  out of device memory now; fewer calls at a time may succeed
  //   UNAVAILABLE         the device is lost, now and for ever; also after a hang
  //   CANCELLED           `stop` of the sequence was set, and the device looked
  //   INTERNAL            anything else
  // The processor never fails but for that, and with what an ArrivingInputs fails with. A run that
  // fails keeps no copy of a result.
  virtual absl::Status Run(std::span<const DeviceCall> calls) = 0;

  // Reads the first bytes of a content that it keeps, as many as `to` has. NOT_FOUND where it keeps
  // none, or fewer; else it fails as Run does. A device may forget each content at any time
  // that is not volatile.
  virtual absl::Status Read(ContentId, std::span<std::byte>) {
    return absl::NotFoundError("The device keeps no contents.");
  }

  // A volatile content need not be kept any more. It may be of use, where the host has it as well,
  // or else nobody will ask for it.
  virtual void Release(ContentId, bool /*is_of_use*/) {}

  // All zero where it works in the host's memory.
  virtual TransferCounters transfers() const { return {}; }
};

// Makes a device, the first time and again after each loss; called by one thread at a time. Fails
// with any code where there is none now.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<ComputeDevice>>()>;

// A device that a server is to use.
struct DeviceSource {
  // The same as the profile of every device that `create` makes, but for the feature level, which
  // need not be known before.
  DeviceProfile profile;
  DeviceFactory create;
};

// Finds the GPUs that a server is to use, which may take seconds. Called at most once.
using GpuFinder = std::function<std::vector<DeviceSource>()>;

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_COMPUTE_DEVICE_H_
