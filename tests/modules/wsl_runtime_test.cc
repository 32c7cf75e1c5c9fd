// The WSL run time against a library that stands for WSL's own. Shows that adapters are listed and
// that methods are called by the platform's convention; devices need a real WSL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"
#include "server/d3d12/runtime/shared_library.h"
#include "tests/modules/fake_wsl.h"

namespace opserve::d3d12 {
namespace {

using ::testing::HasSubstr;

const RuntimeLibraries kFake = {OPSERVE_FAKE_WSL, OPSERVE_FAKE_WSL};

class WslRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<SharedLibrary> fake = SharedLibrary::Load(OPSERVE_FAKE_WSL);
    ASSERT_TRUE(fake.ok()) << fake.status();
    ASSERT_TRUE(fake->Find("FakeWslSetAdapterCount", set_adapter_count_).ok());
    ASSERT_TRUE(fake->Find("FakeWslLiveObjects", live_objects_).ok());
  }
  void TearDown() override { EXPECT_EQ(live_objects_(), 0); }

  decltype(&FakeWslSetAdapterCount) set_adapter_count_ = nullptr;
  decltype(&FakeWslLiveObjects) live_objects_ = nullptr;
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
  set_adapter_count_(2);
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

TEST_F(WslRuntimeTest, DevicesAreMadeOnTheirAdapter) {
  set_adapter_count_(2);
  const auto runtime = Runtime::Load(kFake);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_THAT(std::string(D3D12Device::Create(*runtime, 0).status().message()),
              HasSubstr("E_FAIL"));
  EXPECT_THAT(std::string(D3D12Device::Create(*runtime, 1).status().message()),
              HasSubstr("E_NOINTERFACE"));
}

TEST_F(WslRuntimeTest, MachineWithoutAGpuIsTold) {
  if (access("/dev/dxg", F_OK) == 0) GTEST_SKIP() << "this is WSL";
  for (int count : {0, -1}) {
    set_adapter_count_(count);
    const absl::Status status = Runtime::Load(kFake).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/dxg"));
  }
}

}  // namespace
}  // namespace opserve::d3d12
