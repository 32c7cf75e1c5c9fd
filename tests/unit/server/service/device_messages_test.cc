#include "server/service/device_messages.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::SizeIs;

// A device whose counters are 1, 2, ... in the order of the list.
DeviceStatus CountedDevice() {
  DeviceStatus device;
  uint64_t next = 0;
#define OPSERVE_POOL_COUNTER(NAME) device.counters.NAME = ++next;
#define OPSERVE_BATCH_COUNTER(NAME) device.counters.NAME = {{1, 30}, {4, 20}};
#define OPSERVE_TRANSFER_COUNTER(NAME) device.transfers.NAME = ++next;
#include "proto/opserve/device_counters.def"
  return device;
}

v1::DeviceCounters WrittenCounters() {
  v1::GetServerInfoResponse info;
  AddDevice(CountedDevice(), info);
  return info.devices(0).counters();
}

TEST(DeviceMessagesTest, TheMessageHasTheCountersOfTheList) {
  const std::vector<std::string> listed = {
#define OPSERVE_DEVICE_COUNTER(NAME) #NAME,
#include "proto/opserve/device_counters.def"
  };
  const auto& message = *v1::DeviceCounters::descriptor();
  std::vector<std::string> fields;
  for (int i = 0; i < message.field_count(); ++i) fields.push_back(message.field(i)->name());
  EXPECT_THAT(fields, ElementsAreArray(listed));
}

TEST(DeviceMessagesTest, EveryNumberIsWrittenToItsField) {
  const v1::DeviceCounters counters = WrittenCounters();
  const auto& message = *counters.GetDescriptor();
  uint64_t next = 0;
  for (int i = 0; i < message.field_count(); ++i) {
    const auto& field = *message.field(i);
    if (field.is_repeated()) continue;
    EXPECT_EQ(counters.GetReflection()->GetUInt64(counters, &field), ++next) << field.name();
  }
  EXPECT_GT(next, 0u);
}

TEST(DeviceMessagesTest, BatchesAreWrittenBySize) {
  const v1::DeviceCounters counters = WrittenCounters();
  ASSERT_THAT(counters.batches(), SizeIs(2));
  EXPECT_EQ(counters.batches(0).size(), 1u);
  EXPECT_EQ(counters.batches(0).count(), 30u);
  EXPECT_EQ(counters.batches(1).size(), 4u);
  EXPECT_EQ(counters.batches(1).count(), 20u);
}

}  // namespace
}  // namespace opserve::testing
