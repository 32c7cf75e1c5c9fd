// Inputs through a ring, from clients that keep to the rules, and from others.

#include "server/tensors/input_ring.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/error_reasons.h"
#include "server/errors/errors.h"
#include "tests/testing/region_client.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kRun = 1024;
constexpr uint32_t kRuns = 4;
// Four runs and a half of room for four.
constexpr uint32_t kCount = 4 * kRun + kRun / 2 + kRuns * kRun;

// Half a millisecond passes whenever somebody looks, unless it stands still.
class HastyClock final : public Clock {
 public:
  TimePoint Now() const override {
    now_ += step;
    return now_;
  }

  Duration step = std::chrono::microseconds(500);

 private:
  mutable TimePoint now_{};
};

class InputRingTest : public ::testing::Test {
 protected:
  // IF: a byte and two FLOAT32.
  InputRingTest() { SetCall(kCount); }

  void SetCall(uint32_t count, bool is_packed = true) {
    const std::vector<uint32_t> sizes = {count};
    const std::vector<uint32_t> strides = {is_packed ? 1u : 2u};
    OperatorRequest request;
    request.operator_name = "ELEMENT_WISE_IF";
    for (const DataType type : {DataType::kUint8, DataType::kFloat32, DataType::kFloat32}) {
      request.inputs.push_back(
          {.data_type = static_cast<int>(type), .sizes = sizes, .strides = strides});
    }
    const uint64_t length = is_packed ? count : 2ull * count - 1;
    request.payload_bytes = {length, 4 * length, 4 * length};
    const ValidationResult result = Validate(request, {});
    for (const Violation& violation : result.violations) ADD_FAILURE() << violation.description;
    call_ = result.invocation;
    asked_.Clear();
    for (const uint64_t bytes : request.payload_bytes) asked_.add_payload_bytes(bytes);
    asked_.set_run_elements(kRun);
    asked_.set_runs(kRuns);
    asked_.mutable_memory()->set_bytes(kNeeded);
  }

  // What is wrong with the ring that is asked for.
  std::vector<std::string> Wrong() {
    const auto ring = Make();
    std::vector<std::string> fields;
    for (const Violation& violation : ring->Check(*call_)) {
      fields.push_back(violation.field);
      EXPECT_THAT(violation.description, ::testing::EndsWith("."));
    }
    return fields;
  }

  std::unique_ptr<InputRing> Make() {
    if (region_.empty()) {
      const auto added =
          regions_.Add({.connection = 1}, memory_.fd(), memory_.bytes(), RegionMemory::kMemfd);
      EXPECT_TRUE(added.ok()) << added.status();
      region_ = *added;
    }
    asked_.mutable_memory()->set_region(region_);
    auto ring = std::make_unique<InputRing>(clock_);
    std::vector<Violation> violations;
    EXPECT_TRUE(ring->Resolve(regions_, {"me"}, asked_, violations).ok());
    EXPECT_THAT(violations, IsEmpty());
    return ring;
  }

  // For the call, whose inputs come from now on until `stop`.
  std::unique_ptr<InputRing> Begun(const std::atomic<bool>& stop) {
    auto ring = Make();
    EXPECT_THAT(ring->Check(*call_), IsEmpty());
    ring->Begin(stop);
    return ring;
  }

  RingCounters& counters() { return *reinterpret_cast<RingCounters*>(memory_.data()); }

  static constexpr uint64_t kNeeded = kRingCounterBytes + kRuns * kRun * (1 + 4 + 4);

  HastyClock clock_;
  RegionTable regions_{RegionLimits{}};
  const SharedMemory memory_{kNeeded + 4096};
  std::string region_;
  std::shared_ptr<const Invocation> call_;
  v1::PayloadRing asked_;
  const std::atomic<bool> goes_on_ = false;
};

TEST_F(InputRingTest, HandsOutWhatIsThere) {
  const auto ring = Make();
  ASSERT_THAT(ring->Check(*call_), IsEmpty());
  EXPECT_FALSE(ring->HasAll());
  const std::vector<TensorBytes>& payloads = ring->Begin(goes_on_);
  ASSERT_THAT(payloads, SizeIs(3));
  EXPECT_EQ(payloads[1].data() - payloads[0].data(), kRuns * kRun);
  EXPECT_EQ(payloads[2].data() - payloads[1].data(), 4 * kRuns * kRun);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(payloads[0].data()) % kRingAlignment, 0u);

  struct Step {
    uint32_t filled;
    uint64_t place, elements;
    uint32_t emptied;
  };
  for (const Step& step : {Step{1, 0, kRun, 1}, Step{4, kRun, 2 * kRun, 3},
                           // No further than the end of the room.
                           Step{6, 3 * kRun, kRun, 4}, Step{6, 0, 2 * kRun, 6},
                           Step{9, 2 * kRun, 2 * kRun, 8}, Step{9, 0, kRun / 2, 9}}) {
    SCOPED_TRACE(step.emptied);
    counters().filled.Publish(step.filled);
    const auto part = ring->Next();
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->place, step.place);
    EXPECT_EQ(part->elements, step.elements);
    ring->Release();
    EXPECT_EQ(counters().emptied.count(), step.emptied);
  }
}

TEST_F(InputRingTest, WaitsForAnotherThread) {
  clock_.step = {};
  const auto ring = Begun(goes_on_);
  std::thread client([&] {
    for (uint32_t run = 1; run <= 9; ++run) {
      while (run - counters().emptied.count() > kRuns) continue;
      counters().filled.Publish(run);
    }
  });
  uint64_t elements = 0;
  while (elements < kCount) {
    const auto part = ring->Next();
    ASSERT_TRUE(part.ok()) << part.status();
    elements += part->elements;
    ring->Release();
  }
  client.join();
  EXPECT_EQ(elements, kCount);
}

TEST_F(InputRingTest, WhereAllIsThereNobodyWaits) {
  SetCall(2 * kRun + 1);
  counters().filled.Publish(3);
  const auto ring = Make();
  ASSERT_THAT(ring->Check(*call_), IsEmpty());
  EXPECT_TRUE(ring->HasAll());
  ring->Begin(goes_on_);
  counters().filled.Publish(0);
  const auto part = ring->Next();
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->place, 0u);
  EXPECT_EQ(part->elements, 2 * kRun + 1);
}

TEST_F(InputRingTest, DoesNotWaitForEver) {
  const auto ring = Begun(goes_on_);
  counters().filled.Publish(2);
  ASSERT_TRUE(ring->Next().ok());
  ring->Release();
  const absl::Status slow = ring->Next().status();
  EXPECT_EQ(slow.code(), CodeOf(ErrorReason::UPLOAD_TOO_SLOW)) << slow;
  EXPECT_THAT(std::string(slow.message()), HasSubstr("Only 2 of 9 runs came through the ring"));
  // Now it is too late.
  counters().filled.Publish(2);
  EXPECT_FALSE(ring->Next().ok());
}

TEST_F(InputRingTest, EndsWhereNobodyWaitsForTheResult) {
  const std::atomic<bool> stop = true;
  const auto ring = Begun(stop);
  EXPECT_TRUE(absl::IsCancelled(ring->Next().status()));
}

// Counters that go back, beyond all room, or on without runs: what is handed out is always in the
// room, and all of the call in the end.
TEST_F(InputRingTest, WhateverTheClientCountsStaysWithinTheRing) {
  for (const uint32_t lie : {0x80000000u, 0xffffffffu, 1000u, 3u}) {
    SCOPED_TRACE(lie);
    const auto ring = Begun(goes_on_);
    counters().filled.Publish(lie);
    uint64_t elements = 0;
    while (elements < kCount) {
      const auto part = ring->Next();
      if (!part.ok()) {
        EXPECT_EQ(lie, 3u) << "it stays behind";
        break;
      }
      ASSERT_GT(part->elements, 0u);
      ASSERT_LE(part->place + part->elements, kRuns * kRun);
      elements += part->elements;
      ring->Release();
    }
    EXPECT_LE(elements, kCount);
  }
}

TEST_F(InputRingTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Wrong(), IsEmpty());
  asked_.mutable_memory()->set_bytes(kNeeded - 1);
  EXPECT_THAT(Wrong(), ElementsAre("ring.memory.bytes"));
  asked_.mutable_memory()->set_bytes(0);
  EXPECT_THAT(Wrong(), ElementsAre("ring.memory.bytes"));
  asked_.mutable_memory()->set_bytes(kNeeded);
  asked_.mutable_memory()->set_offset(32);
  EXPECT_THAT(Wrong(), ElementsAre("ring.memory.offset"));
  asked_.mutable_memory()->set_offset(64);
  EXPECT_THAT(Wrong(), IsEmpty());
  asked_.set_runs(0xffffffff);
  EXPECT_THAT(Wrong(), ElementsAre("ring.memory.bytes"));
  asked_.set_runs(0);
  EXPECT_THAT(Wrong(), ElementsAre("ring.runs"));
  asked_.set_runs(1);
  for (const uint64_t elements : {uint64_t{0}, kRun - 1, UINT64_MAX}) {
    asked_.set_run_elements(elements);
    EXPECT_THAT(Wrong(), ElementsAre("ring.run_elements")) << elements;
  }
  asked_.set_run_elements(uint64_t{1} << 40);
  EXPECT_THAT(Wrong(), ElementsAre("ring.memory.bytes"));
}

TEST_F(InputRingTest, AFewElementsAreOneRun) {
  SetCall(5);
  asked_.set_run_elements(5);
  asked_.set_runs(1);
  EXPECT_THAT(Wrong(), IsEmpty());
  asked_.set_run_elements(4);
  EXPECT_THAT(Wrong(), ElementsAre("ring.run_elements"));
}

TEST_F(InputRingTest, TakesPackedTensorsAlone) {
  SetCall(100, /*is_packed=*/false);
  EXPECT_THAT(Wrong(), ElementsAre("ring"));
}

TEST_F(InputRingTest, KnowsItsRegion) {
  InputRing ring(clock_);
  EXPECT_FALSE(ring.is_set());
  asked_.mutable_memory()->set_region("nobody's");
  std::vector<Violation> violations;
  EXPECT_TRUE(absl::IsNotFound(ring.Resolve(regions_, {"me"}, asked_, violations)));
  Make();
  asked_.mutable_memory()->set_bytes(memory_.bytes() + 1);
  EXPECT_TRUE(ring.Resolve(regions_, {"me"}, asked_, violations).ok());
  ASSERT_THAT(violations, SizeIs(1));
  EXPECT_EQ(violations[0].field, "ring.memory.bytes");
  EXPECT_TRUE(ring.is_set());
  ring.End();
  EXPECT_FALSE(ring.is_set());
}

}  // namespace
}  // namespace opserve::testing
