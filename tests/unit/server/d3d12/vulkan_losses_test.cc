#include "server/d3d12/runtime/vulkan_losses.h"

#include <gtest/gtest.h>

#include <array>

namespace opserve::d3d12 {
namespace {

class VulkanLossesTest : public ::testing::Test {
 protected:
  void* device(size_t i) { return &handles_[i]; }
  void* queue(size_t i) { return &handles_[2 + i]; }

  std::array<int, 4> handles_ = {};
  VulkanLosses losses_;
};

TEST_F(VulkanLossesTest, DevicesAreNotLost) {
  losses_.AddDevice(device(0));
  EXPECT_TRUE(losses_.LossOf(device(0)).ok());
}

TEST_F(VulkanLossesTest, TheFirstWordCounts) {
  losses_.AddDevice(device(0));
  losses_.AddDevice(device(1));
  losses_.Note(device(0), "vkQueueSubmit");
  losses_.Note(device(0), "vkWaitForFences");
  EXPECT_EQ(losses_.LossOf(device(0)),
            absl::UnavailableError("vkQueueSubmit: VK_ERROR_DEVICE_LOST."));
  EXPECT_TRUE(losses_.LossOf(device(1)).ok());
}

TEST_F(VulkanLossesTest, QueuesBelongToDevices) {
  losses_.AddDevice(device(0));
  losses_.AddDevice(device(1));
  losses_.AddQueue(device(0), queue(0));
  losses_.AddQueue(device(0), queue(0));
  losses_.AddQueue(device(1), queue(1));
  EXPECT_EQ(losses_.DeviceOf(queue(0)), device(0));
  EXPECT_EQ(losses_.DeviceOf(queue(1)), device(1));
  losses_.RemoveDevice(device(0));
  EXPECT_EQ(losses_.DeviceOf(queue(0)), nullptr);
  EXPECT_EQ(losses_.DeviceOf(queue(1)), device(1));
}

// Drivers give the address of a device that was destroyed to the next one.
TEST_F(VulkanLossesTest, ANewDeviceIsNotLost) {
  losses_.AddDevice(device(0));
  losses_.Note(device(0), "vkQueueSubmit");
  losses_.RemoveDevice(device(0));
  EXPECT_TRUE(losses_.LossOf(device(0)).ok());
  losses_.Note(device(0), "vkWaitForFences");
  losses_.AddDevice(device(0));
  EXPECT_TRUE(losses_.LossOf(device(0)).ok());
}

}  // namespace
}  // namespace opserve::d3d12
