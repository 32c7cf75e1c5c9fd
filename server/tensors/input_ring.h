// File: server/tensors/input_ring.h
//
// Inputs that come through a ring of shared memory while they are computed: PayloadRing in
// proto/opserve/v1/operator_service.proto.
//
// Whoever computes waits for the client here, in a thread that others need, too. So all waits of a
// request together are bounded by its bytes, which are what the queue goes by: a client that does
// not go on takes no more of a thread's time for them than one of a slow operator.

#ifndef OPSERVE_SERVER_TENSORS_INPUT_RING_H_
#define OPSERVE_SERVER_TENSORS_INPUT_RING_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/invocation.h"
#include "kernels/tensor_bytes.h"
#include "kernels/validate.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/ring/ring_counter.h"
#include "server/base/clock.h"
#include "server/device/arriving_inputs.h"
#include "server/regions/region.h"
#include "server/regions/region_table.h"

namespace opserve {

// Not thread-safe.
class InputRing final : public ArrivingInputs {
 public:
  // Fewest elements of a run where there are several: less would cost more than it computes.
  static constexpr uint64_t kLeastRunElements = 1024;
  // How long a request waits for its client in all, for each byte of its inputs and its result: 256
  // MB in a second. A client that copies is some twenty times as fast; what is left is for one that
  // others keep from running.
  static constexpr Clock::Duration kMostWaitPerByte = std::chrono::nanoseconds(4);

  // `clock` must outlive the ring.
  explicit InputRing(const Clock& clock) : clock_(clock) {}

  // Finds the memory that `ring`, at the proto path `ring`, names for `caller`. REGION_NOT_FOUND;
  // what is wrong with the range is added to `violations`. To be called once, where there is one.
  absl::Status Resolve(RegionTable& regions, const RegionCaller& caller,
                       const v1::PayloadRing& ring, std::vector<Violation>& violations);
  bool is_set() const { return slice_.region != nullptr; }
  // The proto path of the length of each payload.
  const std::vector<std::string>& fields() const { return fields_; }

  // What is wrong with the ring for `call`, a valid one of payloads of these lengths. Where nothing
  // is, it is the call that the rest is about.
  std::vector<Violation> Check(const Invocation& call);

  // Whether all of the inputs are there already. Nobody waits for any of them then, whatever the
  // client does to its counter.
  bool HasAll();

  // Where each payload begins. From here on the inputs come. `stop`: as SequenceCall::stop.
  const std::vector<TensorBytes>& Begin(const std::atomic<bool>& stop);

  // UPLOAD_TOO_SLOW where the client does not go on; CANCELLED once `stop` is set.
  absl::StatusOr<Part> Next() override;
  void Release() override;

  // Gives the memory up.
  void End() { slice_ = {}; }

 private:
  // How long to sleep before `stop` is looked at.
  static constexpr std::chrono::milliseconds kLongestSleep{2};

  uint64_t run_count() const { return (element_count_ + run_elements_ - 1) / run_elements_; }
  RingCounters& counters() const { return *reinterpret_cast<RingCounters*>(slice_.data()); }
  // Finds where the payloads begin; false where there is no room for them.
  bool PlacePayloads(const Invocation& call);
  absl::Status WaitForRun();

  const Clock& clock_;
  RegionSlice slice_;
  std::vector<std::string> fields_;
  uint64_t run_elements_ = 0;
  uint64_t runs_ = 0;
  uint64_t element_count_ = 0;
  std::vector<TensorBytes> payloads_;
  const std::atomic<bool>* stop_ = nullptr;
  bool has_all_ = false;
  // Runs that have been handed out.
  uint64_t taken_ = 0;
  // How long it has waited, and may.
  Clock::Duration waited_{};
  Clock::Duration most_wait_{};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_INPUT_RING_H_
