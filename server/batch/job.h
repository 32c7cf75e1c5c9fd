// File: server/batch/job.h
//
// An accepted request on its way through queues and devices.

#ifndef OPSERVE_SERVER_BATCH_JOB_H_
#define OPSERVE_SERVER_BATCH_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/device/compute_device.h"
#include "server/device/lane_key.h"

namespace opserve {

// Where a request may run.
enum class Placement : uint8_t {
  kAuto,  // whichever device is expected to finish it first
  kGpu,   // a GPU; the processor only where no GPU can
  kCpu,   // the processor
};

// "auto", "gpu" or "cpu".
constexpr absl::string_view NameOf(Placement placement) {
  constexpr absl::string_view kNames[] = {"auto", "gpu", "cpu"};
  return kNames[static_cast<size_t>(placement)];
}

// Requests of a more urgent class always go first.
enum class Priority : uint8_t { kHigh, kNormal, kLow };
inline constexpr int kPriorityCount = 3;

// The number of no device lease; those of leases are above it.
inline constexpr uint64_t kNoLease = 0;

// What queues and devices need to know of a request. Does not change once it is queued.
struct JobTraits {
  LaneKey lane = {};
  // What a job is that is a sequence, else nullptr; lives as long as the job.
  const SequenceInvocation* sequence = nullptr;
  // Bytes of the inputs and of the output, or of all results of a sequence.
  uint64_t bytes = 0;
  // Whether its inputs still come while it is computed, so that whoever runs it may have to wait.
  bool waits_for_inputs = false;
  // Whether its results may wait for a device, wherever it runs, before they have a place.
  bool results_may_wait = false;
  // Who sent it: what is proven of him, and the name that he gives himself, if any. Queues are fair
  // between identities, and then between the names of each, so that many names are of no use.
  std::string client = {};
  std::string name = {};
  // Weight of the identity's share, above 0, where BatchLimits::client_weights names none.
  double weight = 1;
  Priority priority = Priority::kNormal;
  Placement placement = Placement::kAuto;
  // The device that a tensor of the request is placed on, by its name, which lives as long as the
  // pool; empty: none.
  absl::string_view home = {};
  // Whether a GPU's result must be compared with the processor's.
  bool verify = false;
  // The number of the device lease that it runs under; kNoLease: none.
  uint64_t lease = kNoLease;
  Clock::TimePoint accepted = {};
  Clock::TimePoint deadline = Clock::kNever;
};

// How a job was run.
struct RunRecord {
  // The device whose result it is: the processor where it put a wrong result of a GPU right. Lives
  // as long as the pool.
  absl::string_view device;
  // The kind of that device.
  DeviceKind kind = DeviceKind::kCpu;
  // The time from acceptance to the start of the run that succeeded.
  Clock::Duration queued{};
  // The time that this run of the whole batch took.
  Clock::Duration ran{};
  // Jobs of that run, this one included.
  size_t batch_size = 1;
  // Runs that were started, failed ones included.
  int attempts = 1;
  // The number of the device lease that it ran under; kNoLease: none.
  uint64_t lease = kNoLease;
  // Whether the result was compared with the processor's.
  bool is_verified = false;
  // This job's part, by its bytes, of the time in which the device was at work on the batch and on
  // no other: what the job costs its client.
  Clock::Duration cost{};
};

// What happened to a job so far.
struct JobProgress {
  // Runs that were started, failed ones included.
  int attempts = 0;
  // Times that it had to go to another device.
  int moves = 0;
};

// Exactly one of Answer and Refuse is called, once, with no lock held; whoever holds the job does
// not touch it after that call has started.
class Job {
 public:
  explicit Job(JobTraits traits) : traits_(std::move(traits)) {}
  Job() = default;
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const JobTraits& traits() const { return traits_; }

  // Kept by whoever holds the job.
  JobProgress& progress() { return progress_; }

  // Nobody wants the answer any more: no queue takes the job from now on. Any thread may call these
  // while the job lives.
  void SetCancelled() { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

  // The call to run, with room for its result, on a device of this kind. May be called again, by
  // one thread at a time, and returns the same then, whatever the kind. The last kind to ask is the
  // processor, if it asks at all. An error refuses the job.
  virtual absl::StatusOr<DeviceCall> Prepare(DeviceKind kind) = 0;

  // The outputs of the prepared call hold the results.
  virtual void Answer(const RunRecord& record) = 0;

  // A run has kept a device busy for so long and gave no answer because the client stopped it,
  // which costs what an answer costs. Refuse follows.
  virtual void Charge(Clock::Duration /*cost*/) {}

  // Gives the job up.
  virtual void Refuse(const absl::Status& why) = 0;

 protected:
  // Only before the job is queued.
  void set_traits(JobTraits traits) { traits_ = std::move(traits); }
  void set_client(std::string client, std::string name) {
    traits_.client = std::move(client);
    traits_.name = std::move(name);
  }

 private:
  JobTraits traits_;
  JobProgress progress_;
  // Queues read it under their locks, which whoever sets it takes after that.
  std::atomic<bool> is_cancelled_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BATCH_JOB_H_
