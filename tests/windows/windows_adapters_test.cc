// Adapters as DXGI lists them, against a library that stands for it: some cannot be had or
// described, and their driver is updated.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"
#include "server/d3d12/runtime/shared_library.h"
#include "tests/windows/fake_dxgi.h"

namespace opserve::d3d12 {
namespace {

class WindowsAdaptersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<SharedLibrary> fake = SharedLibrary::Load(OPSERVE_FAKE_DXGI);
    ASSERT_TRUE(fake.ok()) << fake.status();
    ASSERT_TRUE(fake->Find("FakeDxgiReset", reset_).ok());
    ASSERT_TRUE(fake->Find("FakeDxgiUpdateDriver", update_driver_).ok());
    ASSERT_TRUE(fake->Find("FakeDxgiLiveObjects", live_objects_).ok());
    reset_();
    auto loaded = Runtime::Load({OPSERVE_FAKE_DXGI, OPSERVE_FAKE_DXGI});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    runtime_ = *std::move(loaded);
  }
  void TearDown() override {
    runtime_ = nullptr;
    EXPECT_EQ(live_objects_(), 0);
  }

  // Why no device is made of the adapter.
  std::string AnswerOf(int adapter) {
    return std::string(D3D12Device::Create(runtime_, adapter).status().message());
  }
  void ExpectTheirAnswers() {
    EXPECT_NE(AnswerOf(0).find("E_FAIL"), std::string::npos) << AnswerOf(0);
    EXPECT_NE(AnswerOf(1).find("E_NOINTERFACE"), std::string::npos) << AnswerOf(1);
  }

  decltype(&FakeDxgiReset) reset_ = nullptr;
  decltype(&FakeDxgiUpdateDriver) update_driver_ = nullptr;
  decltype(&FakeDxgiLiveObjects) live_objects_ = nullptr;
  std::shared_ptr<const Runtime> runtime_;
};

TEST_F(WindowsAdaptersTest, OddOnesAreLeftOut) {
  ASSERT_EQ(runtime_->adapters().size(), 2u);
  EXPECT_EQ(runtime_->adapters()[0].name, "first");
  EXPECT_EQ(runtime_->adapters()[1].name, "second");
  EXPECT_EQ(runtime_->adapters()[1].index, 1);
  EXPECT_EQ(runtime_->adapters()[1].luid, 0u);
  ASSERT_EQ(runtime_->left_out().size(), 2u);
  EXPECT_EQ(runtime_->left_out()[0].message(),
            "Adapter 0 of the system: EnumAdapters1 failed: E_FAIL (0x80004005).");
  EXPECT_EQ(runtime_->left_out()[1].message().substr(0, 25), "Adapter 2 of the system: ");
}

TEST_F(WindowsAdaptersTest, AreFoundAgainAfterAnUpdateOfTheDriver) {
  ExpectTheirAnswers();
  update_driver_();
  ExpectTheirAnswers();
}

}  // namespace
}  // namespace opserve::d3d12
