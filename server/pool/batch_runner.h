// File: server/pool/batch_runner.h
//
// Runs the batches of one GPU: answers their jobs, and passes on those that the device could not
// run. Errors of a GPU never reach a client while the processor works.

#ifndef OPSERVE_SERVER_POOL_BATCH_RUNNER_H_
#define OPSERVE_SERVER_POOL_BATCH_RUNNER_H_

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/batch/batch_queue.h"
#include "server/device/busy_time.h"
#include "server/device/compute_device.h"
#include "server/pool/device_slot.h"
#include "server/pool/router.h"
#include "server/pool/verify/recomputation.h"
#include "server/pool/verify/result_check.h"
#include "server/pool/verify/self_test.h"

namespace opserve {

// Thread-safe: several threads may run batches of the same device, one of a GPU.
class BatchRunner {
 public:
  // All must outlive the runner. `processor` recomputes results; `sampler` says which.
  struct Parts {
    const Clock& clock;
    Logger& logger;
    Router& router;
    ComputeDevice& processor;
    Sampler& sampler;
  };

  BatchRunner(const Parts& parts, DeviceSlot& slot) : parts_(parts), slot_(slot) {}

  // Answers, refuses or passes on every job of `batch`. Never throws what a device or a job throws:
  // such a batch is refused with OUT_OF_MEMORY.
  void Run(Batch batch);

 private:
  // A job that has room for its result.
  struct Entry {
    // Its place in the batch; nullptr there once it is out of our hands.
    Job** held;
    DeviceCall call;
    // Its result is to be compared with the processor's.
    bool is_chosen = false;
    bool is_verified = false;
    // The device's result was wrong and has been replaced.
    bool is_replaced = false;
    // It cannot be, as an input is lost with the device.
    absl::Status lost = absl::OkStatus();

    // What devices know of each result.
    std::span<const ResultContent> contents() const {
      if (call.sequence != nullptr) return call.sequence->contents;
      return {&call.content, 1};
    }
    // Whether the device alone has a result.
    bool stays() const {
      return std::any_of(contents().begin(), contents().end(), [](const ResultContent& content) {
        return content.stays != nullptr && *content.stays;
      });
    }
    // None does, for all that is known.
    void ClearStays() {
      for (const ResultContent& content : contents()) {
        if (content.stays != nullptr) *content.stays = false;
      }
    }
  };

  // What was measured of a run.
  struct Timing {
    Clock::TimePoint start{};
    Clock::Duration ran{};
    // `ran` without the time in which the device was at work on other batches.
    Clock::Duration busy{};
  };

  void RunUnguarded(Batch& batch);
  // Tests kernels that the jobs, all of one lane, are the first to use on the device. False where
  // one did not pass: then the jobs are out of our hands.
  bool TestBeforeUse(ComputeDevice& device, std::span<Entry> entries);
  SelfTestOutcome TestUntested(ComputeDevice& device, std::span<const KernelLane> lanes);
  // What is between them is done by one thread at a time, so that no two test the same kernels. No
  // lock is held meanwhile: devices have their own.
  void BeginTest();
  void EndTest();
  std::vector<Entry> Prepare(Batch& batch);
  // Chooses the results that are compared, before anything runs: those are read back, and their
  // inputs are in the host's memory. Refuses jobs of which one is lost.
  void ChooseSamples(std::vector<Entry>& entries);
  void Attempt(ComputeDevice& device, std::span<Entry> entries, bool may_split);
  absl::Status TimedRun(ComputeDevice& device, std::span<const DeviceCall> calls,
                        Clock::Duration expected, Timing& timing);
  void OnRunFailed(ComputeDevice& device, std::span<Entry> entries, const absl::Status& why,
                   bool may_split);
  void RunHalves(ComputeDevice& device, std::span<Entry> entries);
  void RefuseEach(std::span<Entry> entries, const absl::Status& why);
  void MoveEach(std::span<Entry> entries);
  void MoveEachToProcessor(std::span<Entry> entries);
  void ChargeEach(std::span<const Entry> entries, const Timing& timing);
  void AnswerEach(std::span<Entry> entries, const Timing& timing);
  // What a run costs the client of each of its jobs, by its weight among those of all.
  static double WeightOf(const Job& job);
  static double WeightsOf(std::span<const Entry> entries);
  static Clock::Duration CostOf(const Job& job, double weights, const Timing& timing);

  // Compares results with the processor's: those that are chosen, and all once one is wrong or the
  // device has been taken out of service meanwhile. What stays on such a device is computed anew;
  // entries of which an input is lost with it are marked so.
  void Verify(const ComputeDevice& device, std::span<Entry> entries);
  // Compares one, and puts the right results in its place if need be. Returns what was wrong first.
  std::optional<Mismatch> VerifyOne(Entry& entry);
  // Puts the processor's result in the place of one that stays on the device.
  void ReplaceOne(Entry& entry);
  void LogMismatch(const Mismatch& mismatch);

  const Parts parts_;
  DeviceSlot& slot_;
  BusyTime busy_time_;
  Mutex mutex_;
  CondVar test_ended_;
  bool is_testing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_BATCH_RUNNER_H_
