// The order in which parts are filled, run and emptied, by rule and on models of machines: how much
// of a bus that carries both ways at once a large batch uses.

#include "server/d3d12/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <iterator>
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
  // Of what kernels read and write of the host's memory, each way at once.
  double direct;
  // Of the device's memory, with reads and writes.
  double memory;
  // Of copies of the host, with all threads that copy for the device.
  double host;
  // Whether copies up, kernels and copies down run beside each other if they are in queues of their
  // own.
  bool has_engines = true;
};

// Something that does one thing at a time.
class Engine {
 public:
  // Does what takes so long, from `at` on or once it is done with what came before. Returns when
  // that ends.
  double Do(double at, double duration) {
    free_at_ = std::max(free_at_, at) + duration;
    return free_at_;
  }

 private:
  double free_at_ = 0;
};

// Simulates the host's thread and the device's queues.
class ModelRun final : public PartRunner {
 public:
  ModelRun(const MachineSpeeds& speeds, uint64_t part_bytes, TransferWay by)
      : speeds_(speeds), bytes_(static_cast<double>(part_bytes)), by_(by) {}

  absl::Status Begin(size_t /*part*/, bool /*may_wait*/) override {
    host_ += bytes_ / speeds_.host;
    ends_.push_back(EndOf(host_ + speeds_.latency));
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
  // When the device is done with a part that reaches it then.
  double EndOf(double begin) {
    const double up = bytes_ / speeds_.up;
    const double down = bytes_ / speeds_.down;
    const double kernel = 2 * bytes_ / speeds_.memory;
    if (by_ == TransferWay::kCopies) return kernels_.Do(begin, up + kernel + down);
    // Kernels that work on the host's memory read while they write.
    if (by_ == TransferWay::kDirect) {
      return kernels_.Do(begin, std::max({up, down, kernel, bytes_ / speeds_.direct}));
    }
    // A queue that waits for another one is told as late as the host would be.
    Engine& up_engine = speeds_.has_engines ? up_ : kernels_;
    Engine& down_engine = speeds_.has_engines ? down_ : kernels_;
    const double is_up = up_engine.Do(begin, up) + speeds_.latency;
    const double is_computed = kernels_.Do(is_up, kernel) + speeds_.latency;
    return down_engine.Do(is_computed, down);
  }

  const MachineSpeeds speeds_;
  const double bytes_;
  const TransferWay by_;
  double host_ = 0;
  Engine up_;
  Engine kernels_;
  Engine down_;
  std::deque<double> ends_;
};

constexpr uint64_t kMebi = uint64_t{1} << 20;

// What a batch takes whose inputs and results have so many bytes each, in nanoseconds.
double TimeOf(const MachineSpeeds& speeds, uint64_t bytes, size_t parts, TransferWay by) {
  ModelRun run(speeds, bytes / parts, by);
  EXPECT_TRUE(RunOverlapped(parts, run).ok());
  return run.nanoseconds();
}

// Of a batch of 256 MiB: its share of what the bus carries each way at once.
double ShareOfBus(const MachineSpeeds& speeds, size_t parts, TransferWay by) {
  constexpr uint64_t kBytes = 256 * kMebi;
  return static_cast<double>(kBytes) / std::min(speeds.up, speeds.down) /
         TimeOf(speeds, kBytes, parts, by);
}

// The buses of placement_regret_test.
constexpr MachineSpeeds kMachines[] = {{"fast_bus", 40e3, 25, 25, 25, 2000, 60},
                                       {"slow_bus", 60e3, 6, 6, 6, 400, 15}};
constexpr size_t kParts = 256 * kMebi / kPartBytes;

// Machines whose kernels have less than half of the bus for the host's memory.
std::vector<MachineSpeeds> MachinesWithSlowKernels() {
  std::vector<MachineSpeeds> machines(std::begin(kMachines), std::end(kMachines));
  for (MachineSpeeds& speeds : machines) speeds.direct = 0.45 * speeds.up;
  return machines;
}

// What a device chooses that runs a batch of so many bytes each way.
TransferWay MeasuredWay(const MachineSpeeds& speeds, uint64_t bytes) {
  std::vector<TransferTrial> trials;
  for (const TransferWay way :
       {TransferWay::kCopies, TransferWay::kDirect, TransferWay::kCopyQueues}) {
    const std::chrono::duration<double, std::nano> took(
        TimeOf(speeds, bytes, bytes / kPartBytes, way));
    trials.push_back({way, std::chrono::duration_cast<std::chrono::nanoseconds>(took)});
  }
  return ChosenWay(trials);
}

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

TEST(OverlapOnModelsTest, CopyQueuesUseFourFifthsOfItWhereKernelsAreSlowOnTheBus) {
  for (const MachineSpeeds& speeds : MachinesWithSlowKernels()) {
    SCOPED_TRACE(speeds.name);
    const auto share = [&](const char* what, TransferWay by) {
      const double of_bus = ShareOfBus(speeds, kParts, by);
      RecordProperty(std::string(speeds.name) + "_" + what, std::to_string(of_bus));
      return of_bus;
    };
    const double both = share("copy_queues", TransferWay::kCopyQueues);
    EXPECT_GE(both, 0.8);
    EXPECT_LE(both, 1);
    EXPECT_LE(share("slow_direct_parts", TransferWay::kDirect), 0.5);
    // They need the parts.
    EXPECT_LE(ShareOfBus(speeds, 1, TransferWay::kCopyQueues), 0.5);
  }
}

TEST(OverlapOnModelsTest, TheFastestWayIsMeasured) {
  // Of two parts, of four as calibration has them, and of many.
  for (const uint64_t bytes : {16 * kMebi, 32 * kMebi, 256 * kMebi}) {
    SCOPED_TRACE(bytes);
    for (const MachineSpeeds& speeds : kMachines) {
      EXPECT_EQ(MeasuredWay(speeds, bytes), TransferWay::kDirect) << speeds.name;
    }
    for (MachineSpeeds speeds : MachinesWithSlowKernels()) {
      EXPECT_EQ(MeasuredWay(speeds, bytes), TransferWay::kCopyQueues) << speeds.name;
      // As software adapters, and run times that have one queue for all.
      speeds.has_engines = false;
      EXPECT_EQ(MeasuredWay(speeds, bytes), TransferWay::kCopies) << speeds.name;
    }
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

class ChosenWayTest : public ::testing::Test {
 protected:
  // Where each way takes so long, and gives what copies do.
  static TransferWay Of(int64_t copies, int64_t direct, int64_t copy_queues) {
    return ChosenWay(Trials(copies, direct, copy_queues));
  }
  static std::vector<TransferTrial> Trials(int64_t copies, int64_t direct, int64_t copy_queues) {
    using std::chrono::nanoseconds;
    return {{TransferWay::kCopies, nanoseconds(copies), 1},
            {TransferWay::kDirect, nanoseconds(direct), 1},
            {TransferWay::kCopyQueues, nanoseconds(copy_queues), 1}};
  }
};

TEST_F(ChosenWayTest, AnotherWayThanCopiesMustBeFasterByATenth) {
  for (const int64_t slow : {1000, 2000}) {
    EXPECT_EQ(Of(1000, 500, slow), TransferWay::kDirect);
    EXPECT_EQ(Of(1000, 890, slow), TransferWay::kDirect);
    EXPECT_EQ(Of(1000, 900, slow), TransferWay::kCopies);
    EXPECT_EQ(Of(1000, slow, 500), TransferWay::kCopyQueues);
    EXPECT_EQ(Of(1000, slow, 890), TransferWay::kCopyQueues);
    EXPECT_EQ(Of(1000, slow, 900), TransferWay::kCopies);
  }
}

// So must one that needs memory and queues that another one does not.
TEST_F(ChosenWayTest, CopyQueuesMustBeFasterThanTheDirectWayByATenth) {
  EXPECT_EQ(Of(1000, 500, 440), TransferWay::kCopyQueues);
  EXPECT_EQ(Of(1000, 500, 450), TransferWay::kDirect);
  EXPECT_EQ(Of(1000, 950, 890), TransferWay::kCopyQueues);
}

TEST_F(ChosenWayTest, ItMustGiveTheSame) {
  std::vector<TransferTrial> trials = Trials(1000, 500, 100);
  trials[2].results = 2;
  EXPECT_EQ(ChosenWay(trials), TransferWay::kDirect);
  trials[1].results = 2;
  EXPECT_EQ(ChosenWay(trials), TransferWay::kCopies);
}

TEST_F(ChosenWayTest, WhatThereIsNotIsNotChosen) {
  std::vector<TransferTrial> trials = Trials(1000, 950, 100);
  trials.pop_back();
  EXPECT_EQ(ChosenWay(trials), TransferWay::kCopies);
}

}  // namespace
}  // namespace opserve::d3d12
