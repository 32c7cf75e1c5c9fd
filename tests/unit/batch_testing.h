// File: tests/unit/batch_testing.h
//
// Jobs for the tests of server/batch.

#ifndef OPSERVE_TESTS_UNIT_BATCH_TESTING_H_
#define OPSERVE_TESTS_UNIT_BATCH_TESTING_H_

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "server/batch/job.h"
#include "tests/unit/server_status_testing.h"

namespace opserve::testing {

// A lane like no other number's.
inline LaneKey LaneNumber(int number) {
  LaneKey lane;
  lane.lane_type = DataType::kFloat32;
  lane.attributes[0] = number;
  return lane;
}

// Notes how it was refused: "DEADLINE_PASSED after 5 ms". Nobody may answer it.
class FakeJob final : public Job {
 public:
  explicit FakeJob(JobTraits traits) : Job(std::move(traits)) {}

  absl::StatusOr<DeviceCall> Prepare() override { return absl::InternalError("not to be run"); }
  void Answer(const RunRecord&) override { refusal_ = "answered"; }
  void Refuse(const absl::Status& why) override {
    const auto info = Detail<rpc::ErrorInfo>(why, kErrorInfoUrl);
    refusal_ = info->reason() + " after " + info->metadata().at("queued_ms") + " ms";
    ++refusals_;
  }

  // Empty: not refused.
  const std::string& refusal() const { return refusal_; }
  // May be read while other threads refuse it.
  int refusals() const { return refusals_; }

 private:
  std::string refusal_;
  std::atomic<int> refusals_{0};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_BATCH_TESTING_H_
