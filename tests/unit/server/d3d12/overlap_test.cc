// The order in which parts are filled, run and emptied, by rule and on models of machines: how much
// of a bus that carries both ways at once a large batch uses.

#include "server/d3d12/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "server/d3d12/batch_parts.h"
#include "server/d3d12/transfer_way.h"

namespace opserve::d3d12 {
namespace {

// Writes down what is done, and has memory for so many parts.
class Notes final : public PartRunner {
 public:
  explicit Notes(size_t room) : room_(room) {}

  absl::Status Begin(size_t part, bool may_wait) override {
    const std::string number = std::to_string(part);
    if (part == failing_part) return absl::OutOfRangeError("begin");
    if (under_way_ == room_) {
      log.push_back("full " + number);
      return absl::ResourceExhaustedError("room");
    }
    log.push_back((may_wait ? "wait " : "begin ") + number);
    ++under_way_;
    return absl::OkStatus();
  }
  absl::Status End() override {
    const size_t part = ended_++;
    log.push_back("end " + std::to_string(part));
    --under_way_;
    return part == failing_end ? end_status : absl::OkStatus();
  }

  size_t failing_part = SIZE_MAX;
  size_t failing_end = SIZE_MAX;
  absl::Status end_status;
  std::vector<std::string> log;

 private:
  const size_t room_;
  size_t under_way_ = 0;
  size_t ended_ = 0;
};

using Log = std::vector<std::string>;

TEST(RunOverlappedTest, ThreePartsAreUnderWay) {
  Notes notes(100);
  EXPECT_TRUE(RunOverlapped(5, notes).ok());
  EXPECT_EQ(notes.log, (Log{"wait 0", "begin 1", "begin 2", "end 0", "begin 3", "end 1", "begin 4",
                            "end 2", "end 3", "end 4"}));
}

TEST(RunOverlappedTest, NothingIsDoneOfNoParts) {
  Notes notes(100);
  EXPECT_TRUE(RunOverlapped(0, notes).ok());
  EXPECT_EQ(notes.log, Log());
}

// Only who has no memory of his own waits for that of others.
TEST(RunOverlappedTest, WhereThereIsNoRoomAPartEndsFirst) {
  Notes notes(1);
  EXPECT_TRUE(RunOverlapped(3, notes).ok());
  EXPECT_EQ(notes.log,
            (Log{"wait 0", "full 1", "end 0", "wait 1", "full 2", "end 1", "wait 2", "end 2"}));
  Notes none(0);
  EXPECT_EQ(RunOverlapped(3, none), absl::ResourceExhaustedError("room"));
  EXPECT_EQ(none.log, Log{"full 0"});
}

TEST(RunOverlappedTest, WhatHasBegunEndsAfterAFailure) {
  Notes begin(100);
  begin.failing_part = 2;
  EXPECT_EQ(RunOverlapped(5, begin), absl::OutOfRangeError("begin"));
  EXPECT_EQ(begin.log, (Log{"wait 0", "begin 1", "end 0", "end 1"}));
  Notes end(100);
  end.failing_end = 0;
  end.end_status = absl::OutOfRangeError("end");
  EXPECT_EQ(RunOverlapped(5, end), absl::OutOfRangeError("end"));
  EXPECT_EQ(end.log, (Log{"wait 0", "begin 1", "begin 2", "end 0", "end 1", "end 2"}));
}

// It says more than what failed before.
TEST(RunOverlappedTest, ALossIsTold) {
  Notes notes(100);
  notes.failing_part = 2;
  notes.failing_end = 1;
  notes.end_status = absl::UnavailableError("lost");
  EXPECT_EQ(RunOverlapped(5, notes), absl::UnavailableError("lost"));
}

// Speeds in bytes per nanosecond, which is GB/s.
struct MachineSpeeds {
  const char* name;
  // From the submission to the first byte, and back, in nanoseconds.
  double latency;
  // Of the bus, each way.
  double up;
  double down;
  // Of the device's memory, with reads and writes.
  double memory;
  // Of copies of the host, with all threads that copy for the device.
  double host;
};

// Simulates the host's thread and the device's queue.
class ModelRun final : public PartRunner {
 public:
  ModelRun(const MachineSpeeds& speeds, uint64_t part_bytes, TransferWay by)
      : speeds_(speeds), bytes_(static_cast<double>(part_bytes)), by_(by) {}

  absl::Status Begin(size_t /*part*/, bool /*may_wait*/) override {
    host_ += bytes_ / speeds_.host;
    queue_ = std::max(queue_, host_ + speeds_.latency) + DeviceTime();
    ends_.push_back(queue_);
    return absl::OkStatus();
  }
  absl::Status End() override {
    host_ = std::max(host_, ends_.front() + speeds_.latency);
    ends_.pop_front();
    host_ += bytes_ / speeds_.host;
    return absl::OkStatus();
  }

  double nanoseconds() const { return host_; }

 private:
  double DeviceTime() const {
    const double up = bytes_ / speeds_.up;
    const double down = bytes_ / speeds_.down;
    const double kernel = 2 * bytes_ / speeds_.memory;
    // Kernels that work on the host's memory read while they write.
    return by_ == TransferWay::kDirect ? std::max({up, down, kernel}) : up + kernel + down;
  }

  const MachineSpeeds speeds_;
  const double bytes_;
  const TransferWay by_;
  double host_ = 0;
  double queue_ = 0;
  std::deque<double> ends_;
};

// Of a batch whose inputs and results have 256 MiB each: its share of what the bus carries each way
// at once.
double ShareOfBus(const MachineSpeeds& speeds, size_t parts, TransferWay by) {
  constexpr uint64_t kBytes = uint64_t{256} << 20;
  ModelRun run(speeds, kBytes / parts, by);
  EXPECT_TRUE(RunOverlapped(parts, run).ok());
  return static_cast<double>(kBytes) / std::min(speeds.up, speeds.down) / run.nanoseconds();
}

// The buses of placement_regret_test.
constexpr MachineSpeeds kMachines[] = {{"fast_bus", 40e3, 25, 25, 2000, 60},
                                       {"slow_bus", 60e3, 6, 6, 400, 15}};
constexpr size_t kParts = (uint64_t{256} << 20) / kPartBytes;

TEST(OverlapOnModelsTest, DirectPartsUseFourFifthsOfTheBusEachWayAtOnce) {
  for (const MachineSpeeds& speeds : kMachines) {
    SCOPED_TRACE(speeds.name);
    const auto share = [&](const char* what, size_t parts, TransferWay by) {
      const double of_bus = ShareOfBus(speeds, parts, by);
      RecordProperty(std::string(speeds.name) + "_" + what, std::to_string(of_bus));
      return of_bus;
    };
    const double both = share("direct_parts", kParts, TransferWay::kDirect);
    EXPECT_GE(both, 0.8);
    EXPECT_LE(both, 1);
    // What it was: everything one after the other.
    EXPECT_LE(share("copies_as_a_whole", 1, TransferWay::kCopies), 0.5);
    // Neither is enough by itself.
    EXPECT_LT(share("direct_as_a_whole", 1, TransferWay::kDirect), 0.8);
    EXPECT_LE(share("copies_in_parts", kParts, TransferWay::kCopies), 0.5);
  }
}

// Each byte that goes up or comes down is copied by the host as well: where that is slower than the
// bus, it is the bound.
TEST(OverlapOnModelsTest, AHostThatCopiesSlowlyIsTheBound) {
  MachineSpeeds speeds = kMachines[0];
  speeds.host = 10;
  const double share = ShareOfBus(speeds, kParts, TransferWay::kDirect);
  EXPECT_NEAR(share, speeds.host / 2 / speeds.up, 0.01);
}

TEST(ChosenWayTest, TheDirectWayMustBeFasterByATenth) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(ChosenWay({nanoseconds(1000), nanoseconds(500), true}), TransferWay::kDirect);
  EXPECT_EQ(ChosenWay({nanoseconds(1000), nanoseconds(890), true}), TransferWay::kDirect);
  EXPECT_EQ(ChosenWay({nanoseconds(1000), nanoseconds(900), true}), TransferWay::kCopies);
  EXPECT_EQ(ChosenWay({nanoseconds(1000), nanoseconds(2000), true}), TransferWay::kCopies);
}

TEST(ChosenWayTest, TheDirectWayMustGiveTheSame) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(ChosenWay({nanoseconds(1000), nanoseconds(500), false}), TransferWay::kCopies);
}

}  // namespace
}  // namespace opserve::d3d12
