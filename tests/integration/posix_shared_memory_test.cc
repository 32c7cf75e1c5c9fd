// Requests whose tensors are in POSIX shared memory, which clients register by name and may cut
// off.

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/memory_fixture.h"
#include "tests/testing/null_device.h"
#include "tests/testing/test_segment.h"

namespace opserve::testing {
namespace {

using ::testing::AnyOf;

// Values and results of `kCount` elements: several pages each, which several threads may touch.
constexpr uint32_t kCount = 1 << 16;
constexpr uint64_t kBytes = kCount * sizeof(float);

class PosixSharedMemoryTest : public MemoryTest {
 protected:
  // Starts a server that takes names, a client of its regions, and another one.
  void Connect(const ServerEnvironment& environment = {}) {
    options_.regions.posix_shared_memory = true;
    Start(environment);
    client_ = std::make_unique<RegionClient>(region_socket());
    other_ = std::make_unique<RegionClient>(region_socket());
    others_memory_ = SharedValues(Floats(2 * kCount, 1.5f));
    others_region_ = other_->Register(*others_memory_);
  }

  // A call whose input is at the beginning of a region and whose result goes behind it.
  static v1::ExecuteRequest CallIn(const std::string& region) {
    return RoundAt(kCount, InRegion(region, 0, kBytes), InRegion(region, kBytes, kBytes));
  }

  static void Fill(const TestSegment& segment) {
    const Floats values(segment.memory().bytes() / sizeof(float), 1.5f);
    std::memcpy(segment.memory().data(), values.data(), segment.memory().bytes());
  }

  void ExpectThatOthersAreServed() {
    std::memset(others_memory_->data() + kBytes, 0, kBytes);
    const Answer answer = server_->Execute(CallIn(others_region_));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(ValuesAt(*others_memory_, kBytes, kCount), Floats(kCount, 2));
  }

  std::unique_ptr<RegionClient> client_;

 private:
  std::unique_ptr<RegionClient> other_;
  std::unique_ptr<SharedMemory> others_memory_;
  std::string others_region_;
};

TEST_F(PosixSharedMemoryTest, IsOffByDefault) {
  Start();
  const RegionClient client(region_socket());
  EXPECT_EQ(ReasonOf(client.Ask(TestSegment(128).RegisterPacket())), "POSIX_SHARED_MEMORY_OFF");
}

TEST_F(PosixSharedMemoryTest, ReadsInputsAndWritesResults) {
  Connect();
  const TestSegment segment(256);
  const Floats values = {-1.5f, 0.5f, 2.5f};
  std::memcpy(segment.memory().data() + 8, values.data(), 12);
  const std::string region = client_->Register(segment.RegisterPacket());
  // The name is only needed to register it.
  ASSERT_EQ(shm_unlink(segment.name().c_str()), 0);
  const Answer answer =
      server_->Execute(RoundAt(3, InRegion(region, 8, 12), InRegion(region, 64, 12)));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(ValuesAt(segment.memory(), 64, 3), (Floats{-2, 0, 2}));
}

TEST_F(PosixSharedMemoryTest, RefusesNamesThatAreGone) {
  Connect();
  const TestSegment gone(128);
  ASSERT_EQ(shm_unlink(gone.name().c_str()), 0);
  EXPECT_EQ(ReasonOf(client_->Ask(gone.RegisterPacket())), "INVALID_REQUEST");
}

TEST_F(PosixSharedMemoryTest, KnowsOverlapsThroughTwoRegions) {
  Connect();
  const TestSegment segment(1024);
  const std::string first = client_->Register(segment.RegisterPacket());
  const std::string second = client_->Register(segment.RegisterPacket());
  EXPECT_EQ(
      ReasonOf(
          server_->Execute(RoundAt(32, InRegion(first, 0, 128), InRegion(second, 64, 128))).status),
      "INVALID_REQUEST");
}

TEST_F(PosixSharedMemoryTest, WhatWasCutOffCountsAsZeros) {
  NullDeviceFactory gpu(NullProfile("null/0", /*is_software=*/true));
  // The server makes devices until it has stopped.
  const absl::Cleanup stop = [this] { server_.reset(); };
  Connect({.find_gpus = gpu.finder()});
  for (const v1::DevicePreference device : {v1::DEVICE_PREFERENCE_CPU, v1::DEVICE_PREFERENCE_GPU}) {
    const TestSegment segment(2 * kBytes);
    Fill(segment);
    v1::ExecuteRequest request = CallIn(client_->Register(segment.RegisterPacket()));
    request.set_device(device);
    segment.Resize(0);
    EXPECT_TRUE(server_->Execute(request).status.ok());
    request.clear_output_place();
    const Answer answer = server_->Execute(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(ValuesOf<float>(answer.response.payload()), Floats(kCount, 0));
    ExpectThatOthersAreServed();
  }
}

TEST_F(PosixSharedMemoryTest, MayBeCutOffWhileARequestIsUnderWay) {
  const auto device = std::make_shared<GatedDevice>();
  Connect({.cpu = device});
  const TestSegment segment(3 * kBytes);
  Fill(segment);
  const std::string region = client_->Register(segment.RegisterPacket());
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(*device);
    for (const uint64_t result : {kBytes, 2 * kBytes}) {
      calls.push_back(server_->Start(
          RoundAt(kCount, InRegion(region, 0, kBytes), InRegion(region, result, kBytes))));
    }
    ASSERT_TRUE(device->WaitForHeld(2));
    // In the middle of the input.
    segment.Resize(kBytes / 2);
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
  ExpectThatOthersAreServed();
}

// Another thread cuts the segment off and extends it again, all the time.
TEST_F(PosixSharedMemoryTest, CuttingOffInFlightHarmsNobody) {
  Connect();
  const TestSegment segment(2 * kBytes);
  std::atomic<bool> done{false};
  std::thread cutter([&] {
    for (uint64_t i = 0; !done; ++i) segment.Resize(i % 2 * 2 * kBytes);
  });
  for (int i = 0; i < 50; ++i) {
    const v1::RegionResponse response = client_->Ask(segment.RegisterPacket());
    EXPECT_THAT(ReasonOf(response), AnyOf("OK", "INVALID_REQUEST", "REGION_QUOTA"));
    if (response.error().empty()) {
      const Answer answer = server_->Execute(CallIn(response.region()));
      EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
      EXPECT_EQ(ReasonOf(client_->Ask(UnregisterPacket(response.region()))), "OK");
    }
    ExpectThatOthersAreServed();
  }
  done = true;
  cutter.join();
}

}  // namespace
}  // namespace opserve::testing
