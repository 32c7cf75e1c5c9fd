// File: tests/testing/null_device.h
//
// A device without hardware that does what a test tells it: computes, fails, hangs, lies, is lost.

#ifndef OPSERVE_TESTS_TESTING_NULL_DEVICE_H_
#define OPSERVE_TESTS_TESTING_NULL_DEVICE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/base/mutex.h"
#include "server/device/compute_device.h"
#include "server/device/cpu/cpu_device.h"

namespace opserve::testing {

// What a NullDevice is to do, and what it has done. Outlives the device. Thread-safe. "nth" counts
// runs from now on: 1 is the next.
class NullScript {
 public:
  // The nth run fails.
  void FailRun(uint64_t nth, absl::Status status);
  // The device is lost in the nth run, for ever.
  void LoseAtRun(uint64_t nth);
  // The nth run waits for Release; then the device is lost.
  void HangAtRun(uint64_t nth);
  void Release();
  // All runs wait, and succeed, once the gate is open again.
  void CloseGate();
  void OpenGate();
  // The nth result (not run) has a wrong bit in its last byte.
  void CorruptResult(uint64_t nth);
  // All results have, or no more.
  void CorruptAll(bool corrupt);
  // More calls at a time are too much for its memory; 0: none fits.
  void LimitCalls(size_t most);
  // It has no kernel. Only before the device is given to a pool.
  void Unsupport(OpId op, DataType lane);
  // It has that kernel alone, which makes its self-tests short. Likewise.
  void SupportOnly(OpId op, DataType lane);
  // It runs no sequences.
  void UnsupportSequences();
  // It forgets all that it keeps.
  void ForgetAll();
  // Results that may stay do not any more.
  void HandOverResults();
  // The next `count` reads of contents fail.
  void FailReads(int count, absl::Status status);
  // Called in each run, before it computes, with no lock held: to let simulated time pass.
  void OnRun(std::function<void(std::span<const DeviceCall>)> hook);

  // Waits until `count` runs wait at the gate or hang.
  void WaitForBlocked(int count);
  // Runs that were started, by the number of their calls.
  std::map<size_t, uint64_t> runs() const;
  uint64_t run_count() const;

 private:
  friend class NullDevice;

  // What one run is to do.
  absl::Status Begin(std::span<const DeviceCall> calls);
  absl::Status BeginRead();
  // How often it was to forget all.
  uint64_t forgotten() const;
  bool HandsResultsOver() const;
  bool TakeCorruption();
  bool Supports(OpId op, DataType lane) const;
  bool RunsSequences() const;
  void Block(const bool& until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<uint64_t, absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> hangs_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> corruptions_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<OpId, DataType>> unsupported_ ABSL_GUARDED_BY(mutex_);
  std::map<size_t, uint64_t> runs_ ABSL_GUARDED_BY(mutex_);
  std::function<void(std::span<const DeviceCall>)> hook_ ABSL_GUARDED_BY(mutex_);
  uint64_t run_count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t result_count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lost_at_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
  size_t most_calls_ ABSL_GUARDED_BY(mutex_) = SIZE_MAX;
  int blocked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool gate_open_ ABSL_GUARDED_BY(mutex_) = true;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  bool corrupts_all_ ABSL_GUARDED_BY(mutex_) = false;
  bool runs_sequences_ ABSL_GUARDED_BY(mutex_) = true;
  bool hands_over_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  int failing_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status read_failure_ ABSL_GUARDED_BY(mutex_);
};

// Computes like the processor, as far as its script lets it. Keeps for ever what has a ContentId,
// of inputs of operators and of results, and looks at nothing but that when it sees the id again.
// Results that may stay do: it writes garbage to their outputs. Runs may overlap.
class NullDevice final : public ComputeDevice {
 public:
  NullDevice(DeviceProfile profile, std::shared_ptr<NullScript> script)
      : profile_(std::move(profile)), script_(std::move(script)) {}

  const DeviceProfile& profile() const override { return profile_; }
  bool Supports(OpId op, DataType lane) const override;
  absl::Status Run(std::span<const DeviceCall> calls) override;
  absl::Status Read(ContentId content, std::span<std::byte> to) override;
  void Release(ContentId content, bool is_of_use) override;
  TransferCounters transfers() const override;

 private:
  // Its copy of a content. A run has shares of those that it reads.
  using Copy = std::shared_ptr<const std::vector<std::byte>>;

  absl::Status Compute(const DeviceCall& call);
  // The call with the bytes that are kept, for as long as `copies` lives.
  DeviceCall OnKept(DeviceCall call, std::vector<Copy>& copies);
  void Keep(ContentId content, std::vector<std::byte> copy);
  // Keeps the results of a call; they may stay.
  void KeepResults(const DeviceCall& call);
  void KeepResult(const ResultContent& content, std::byte* output, uint64_t bytes, bool hands_over);
  void ForgetIfTold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DeviceProfile profile_;
  const std::shared_ptr<NullScript> script_;
  CpuDevice processor_{1};
  mutable Mutex mutex_;
  std::map<ContentId, Copy> kept_ ABSL_GUARDED_BY(mutex_);
  uint64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  TransferCounters transfers_ ABSL_GUARDED_BY(mutex_);
};

// A GPU's profile for tests.
DeviceProfile NullProfile(std::string name, bool is_software);

// Makes NullDevices of one profile. Thread-safe.
class NullDeviceFactory {
 public:
  explicit NullDeviceFactory(DeviceProfile profile) : profile_(std::move(profile)) {}

  // Refers to the factory, which must outlive the source.
  DeviceSource source();
  // Finds the one GPU of source().
  GpuFinder finder();
  // The next `count` creations fail.
  void FailCreations(int count, absl::Status status);
  // Called with the script of each device before the device is made.
  void PrepareScripts(std::function<void(NullScript&)> prepare);

  // Creations so far, failed ones included.
  int attempts() const;
  // The script of the last device that was made, which lives as long as the factory at least:
  // another device may be made at any time. nullptr: none was made.
  std::shared_ptr<NullScript> script() const;

 private:
  absl::StatusOr<std::unique_ptr<ComputeDevice>> Create();

  const DeviceProfile profile_;
  mutable Mutex mutex_;
  std::function<void(NullScript&)> prepare_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<NullScript>> scripts_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  int failures_left_ ABSL_GUARDED_BY(mutex_) = 0;
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_NULL_DEVICE_H_
