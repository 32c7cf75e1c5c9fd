// The WSL run time against a library that stands for WSL's own. Shows that adapters are listed and
// that methods are called by the platform's convention; devices need a real WSL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"
#include "server/d3d12/runtime/shared_library.h"
#include "tests/modules/fake_dxcore.h"

namespace opserve::d3d12 {
namespace {

using opserve::testing::AdapterOddity;
using ::testing::HasSubstr;

const RuntimeLibraries kFake = {OPSERVE_FAKE_WSL, OPSERVE_FAKE_WSL};

class WslRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<SharedLibrary> fake = SharedLibrary::Load(OPSERVE_FAKE_WSL);
    ASSERT_TRUE(fake.ok()) << fake.status();
    ASSERT_TRUE(fake->Find("FakeDxcoreReset", reset_).ok());
    ASSERT_TRUE(fake->Find("FakeDxcoreSetOddity", set_oddity_).ok());
    ASSERT_TRUE(fake->Find("FakeDxcoreUpdateDriver", update_driver_).ok());
    ASSERT_TRUE(fake->Find("FakeDxcoreLiveObjects", live_objects_).ok());
  }
  void TearDown() override { EXPECT_EQ(live_objects_(), 0); }

  decltype(&FakeDxcoreReset) reset_ = nullptr;
  decltype(&FakeDxcoreSetOddity) set_oddity_ = nullptr;
  decltype(&FakeDxcoreUpdateDriver) update_driver_ = nullptr;
  decltype(&FakeDxcoreLiveObjects) live_objects_ = nullptr;
};

TEST_F(WslRuntimeTest, MissingLibraryIsNamed) {
  for (const RuntimeLibraries& libraries : {RuntimeLibraries{"libno-such.so", OPSERVE_FAKE_WSL},
                                            RuntimeLibraries{OPSERVE_FAKE_WSL, "libno-such.so"}}) {
    const absl::Status status = Runtime::Load(libraries).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr("libno-such.so"));
  }
}

TEST_F(WslRuntimeTest, AdaptersAreDescribed) {
  reset_(2);
  const auto runtime = Runtime::Load(kFake);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_STREQ((*runtime)->name(), "wsl");
  const std::vector<AdapterInfo>& adapters = (*runtime)->adapters();
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[0].name, "A GPU");
  EXPECT_EQ(adapters[0].runtime, "wsl");
  EXPECT_EQ(adapters[0].driver, "31.0.15.3623");
  EXPECT_EQ(adapters[0].vendor_id, 0x10DEu);
  EXPECT_EQ(adapters[0].device_id, 0x2330u);
  EXPECT_FALSE(adapters[0].is_software);
  EXPECT_EQ(adapters[0].memory_bytes, uint64_t{4} << 30);
  EXPECT_EQ(adapters[0].max_buffer_bytes, uint64_t{1} << 30);
  EXPECT_EQ(adapters[1].index, 1);
  EXPECT_TRUE(adapters[1].is_software);
  EXPECT_EQ(adapters[1].memory_bytes, uint64_t{256} << 20);
  EXPECT_EQ(adapters[1].max_buffer_bytes, uint64_t{128} << 20);
}

// What each of the two adapters answers to who makes a device of it.
void ExpectTheirAnswers(const std::shared_ptr<const Runtime>& runtime) {
  EXPECT_THAT(std::string(D3D12Device::Create(runtime, 0).status().message()), HasSubstr("E_FAIL"));
  EXPECT_THAT(std::string(D3D12Device::Create(runtime, 1).status().message()),
              HasSubstr("E_NOINTERFACE"));
}

TEST_F(WslRuntimeTest, DevicesAreMadeOnTheirAdapter) {
  reset_(2);
  const auto runtime = Runtime::Load(kFake);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  ExpectTheirAnswers(*runtime);
}

// After it the adapters of before are removed, and the list has another order.
TEST_F(WslRuntimeTest, AdaptersAreFoundAgainAfterAnUpdateOfTheDriver) {
  reset_(2);
  const auto runtime = Runtime::Load(kFake);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  update_driver_(/*has_new_luids=*/false);
  ExpectTheirAnswers(*runtime);
  update_driver_(/*has_new_luids=*/true);
  ExpectTheirAnswers(*runtime);
}

TEST_F(WslRuntimeTest, AnAdapterThatIsGoneIsTold) {
  reset_(2);
  const auto runtime = Runtime::Load(kFake);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  reset_(1);
  EXPECT_EQ(D3D12Device::Create(*runtime, 1).status(),
            absl::UnavailableError("The adapter \"A processor\" is not there any more."));
}

TEST_F(WslRuntimeTest, OddAdaptersAreLeftOut) {
  for (const AdapterOddity oddity :
       {AdapterOddity::kVanished, AdapterOddity::kNoDescription, AdapterOddity::kHugeDescription}) {
    reset_(2);
    set_oddity_(0, oddity);
    const auto runtime = Runtime::Load(kFake);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    ASSERT_EQ((*runtime)->adapters().size(), 1u);
    EXPECT_EQ((*runtime)->adapters()[0].name, "A processor");
    EXPECT_EQ((*runtime)->adapters()[0].index, 0);
    ASSERT_EQ((*runtime)->left_out().size(), 1u);
    EXPECT_THAT(std::string((*runtime)->left_out()[0].message()),
                HasSubstr("Adapter 0 of the system: "));
    EXPECT_THAT(std::string(D3D12Device::Create(*runtime, 0).status().message()),
                HasSubstr("E_NOINTERFACE"));
  }
}

TEST_F(WslRuntimeTest, WhatIsNotNeededMayBeOdd) {
  for (const AdapterOddity oddity :
       {AdapterOddity::kNoLuid, AdapterOddity::kNoDriverVersion, AdapterOddity::kMuchMemory}) {
    reset_(2);
    set_oddity_(0, oddity);
    const auto runtime = Runtime::Load(kFake);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    ASSERT_EQ((*runtime)->adapters().size(), 2u);
    EXPECT_TRUE((*runtime)->left_out().empty());
    EXPECT_LE((*runtime)->adapters()[0].max_buffer_bytes, uint64_t{2} << 30);
    update_driver_(/*has_new_luids=*/false);
    ExpectTheirAnswers(*runtime);
  }
}

TEST_F(WslRuntimeTest, MachineWithoutAGpuIsTold) {
  if (access("/dev/dxg", F_OK) == 0) GTEST_SKIP() << "this is WSL";
  for (int count : {0, -1}) {
    reset_(count);
    const absl::Status status = Runtime::Load(kFake).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/dxg"));
  }
}

}  // namespace
}  // namespace opserve::d3d12
