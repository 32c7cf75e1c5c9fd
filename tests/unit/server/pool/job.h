// File: tests/unit/server/pool/job.h
//
// Jobs for tests of the pool, which know what their answer must be.

#ifndef OPSERVE_TESTS_UNIT_SERVER_POOL_JOB_H_
#define OPSERVE_TESTS_UNIT_SERVER_POOL_JOB_H_

#include <condition_variable>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/mutex.h"
#include "server/batch/job.h"
#include "server/pool/verify/result_check.h"
#include "server/pool/verify/sample_call.h"

namespace opserve::testing {

inline constexpr SampleSpec kRoundSpec = {
    .op = OpId::ELEMENT_WISE_ROUND, .lane = DataType::kFloat32, .count = 100};

// A sample call as a job. Counts its answers; destroy it only once it is done.
class PoolJob final : public Job {
 public:
  PoolJob(Placement placement, uint64_t seed, const SampleSpec& spec = kRoundSpec,
          const std::function<void(JobTraits&)>& change = nullptr)
      : call_(MakeCall(spec, seed)),
        expected_(call_.Expected()),
        output_(expected_.size(), std::byte{0x5A}) {
    JobTraits traits;
    traits.lane = LaneKeyOf(call_.invocation());
    traits.bytes = call_.bytes();
    traits.client = "client";
    traits.placement = placement;
    if (change) change(traits);
    set_traits(std::move(traits));
  }

  // What Prepare returns instead of a call.
  void FailPrepare(absl::Status status) { prepare_status_ = std::move(status); }
  // Called in Prepare; may throw.
  void OnPrepare(std::function<void()> hook) { on_prepare_ = std::move(hook); }

  // Lets a device keep the result, as `content`, in place of handing it over.
  void LetStay(ContentId content) { content_ = {.id = content, .stays = &stays_}; }

  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override {
    if (on_prepare_) on_prepare_();
    if (!prepare_status_.ok()) return prepare_status_;
    DeviceCall call = call_.CallInto(output_.data());
    call.content = content_;
    return call;
  }

  void Answer(const RunRecord& record) override {
    MutexLock lock(mutex_);
    ++ends_;
    record_ = record;
    device_ = std::string(record.device);
    difference_ = FirstDifference(call_.invocation(), expected_.data(), output_.data());
    changed_.notify_all();
  }

  void Refuse(const absl::Status& why) override {
    MutexLock lock(mutex_);
    ++ends_;
    refusal_ = why;
    changed_.notify_all();
  }

  // Waits for the answer or refusal. OK: answered with the right bytes.
  absl::Status Wait() {
    MutexLock lock(mutex_);
    while (ends_ == 0) changed_.wait(mutex_);
    if (difference_) return absl::DataLossError(difference_->ToString());
    return refusal_;
  }

  // Whether these bytes are the right result.
  bool IsResult(const std::byte* bytes) const {
    return !FirstDifference(call_.invocation(), expected_.data(), bytes);
  }
  // Whether the device has not handed the result over. Once it is answered.
  bool stays() const { return stays_; }

  // Of the answer.
  RunRecord record() const {
    MutexLock lock(mutex_);
    return record_;
  }
  std::string device() const {
    MutexLock lock(mutex_);
    return device_;
  }
  // Times that it was answered or refused.
  int ends() const {
    MutexLock lock(mutex_);
    return ends_;
  }

 private:
  static SampleCall MakeCall(const SampleSpec& spec, uint64_t seed) {
    std::mt19937_64 random(seed);
    return SampleCall::Make(spec, random).value();
  }

  const SampleCall call_;
  const std::vector<std::byte> expected_;
  std::vector<std::byte> output_;
  absl::Status prepare_status_;
  std::function<void()> on_prepare_;
  ResultContent content_;
  bool stays_ = false;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  int ends_ ABSL_GUARDED_BY(mutex_) = 0;
  RunRecord record_ ABSL_GUARDED_BY(mutex_);
  std::string device_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  std::optional<opserve::Difference> difference_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_POOL_JOB_H_
