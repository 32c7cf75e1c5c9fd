// File: tests/unit/server/batch/batch_testing.h
//
// Jobs for the tests of server/batch, and the fixture of those of BatchQueue.

#ifndef OPSERVE_TESTS_UNIT_SERVER_BATCH_BATCH_TESTING_H_
#define OPSERVE_TESTS_UNIT_SERVER_BATCH_BATCH_TESTING_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/batch/batch_queue.h"
#include "server/batch/job.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {

// A lane like no other number's.
inline LaneKey LaneNumber(int number) {
  LaneKey lane;
  lane.lane_type = DataType::kFloat32;
  lane.attributes[0] = static_cast<uint32_t>(number);
  return lane;
}

// Notes how it was refused: "DEADLINE_PASSED after 5 ms". Nobody may answer it.
class FakeJob final : public Job {
 public:
  explicit FakeJob(JobTraits traits) : Job(std::move(traits)) {}

  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override {
    return absl::InternalError("not to be run");
  }
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

// Makes jobs and keeps them; time stands still.
class BatchQueueTest : public ::testing::Test {
 protected:
  FakeJob& Make(JobTraits traits) {
    traits.accepted = clock_.Now();
    return jobs_.emplace_back(std::move(traits));
  }
  FakeJob& Add(BatchQueue& queue, JobTraits traits) {
    FakeJob& job = Make(std::move(traits));
    EXPECT_TRUE(queue.Enqueue(job));
    return job;
  }
  // Adds `count` jobs of lane 0.
  void AddMany(BatchQueue& queue, const std::string& client, int count, uint64_t bytes = 100) {
    for (int i = 0; i < count; ++i) {
      Add(queue, {.lane = LaneNumber(0), .bytes = bytes, .client = client});
    }
  }
  // The clients of the next `count` batches of one job.
  static std::vector<std::string> TakeClients(BatchQueue& queue, int count) {
    std::vector<std::string> clients;
    for (int i = 0; i < count; ++i) {
      const Batch batch = queue.TryTake();
      if (batch.size() != 1) break;
      clients.push_back(batch[0]->traits().client);
    }
    return clients;
  }
  static std::vector<std::string> ClientsOf(const Batch& batch) {
    std::vector<std::string> clients;
    for (const Job* job : batch) clients.push_back(job->traits().client);
    return clients;
  }

  SimulatedClock clock_;
  std::deque<FakeJob> jobs_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_BATCH_BATCH_TESTING_H_
