// Devices, executions and self-tests, from messages to the client's types.

#include "opserve/devices.h"

#include "client/wire/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The counters of the list, as the public struct declares them: it has no other ones.
struct ListedCounters {
#define OPSERVE_DEVICE_COUNTER(NAME) decltype(DeviceCounters::NAME) NAME;
#include "proto/opserve/device_counters.def"
};
static_assert(sizeof(ListedCounters) == sizeof(DeviceCounters));

v1::DeviceInfo Gpu() {
  v1::DeviceInfo gpu;
  gpu.set_name("d3d12/X");
  gpu.set_description("Adapter X");
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_runtime("vkd3d");
  gpu.set_driver("drv 1.2");
  gpu.set_feature_level("11_0");
  gpu.set_memory_bytes(1ull << 34);
  gpu.set_software(true);
  gpu.set_state(v1::DEVICE_STATE_LOST);
  gpu.set_state_reason("it hung");
  gpu.set_pending_requests(3);
  gpu.set_pending_bytes(300);
  gpu.set_batches_in_flight(2);
  gpu.set_memory_budget_bytes(700);
  gpu.set_kept_bytes(500);
  v1::DeviceCounters& counters = *gpu.mutable_counters();
  counters.set_requests(11);
  for (const auto& [size, count] : {std::pair(1, 3), std::pair(4, 2)}) {
    v1::BatchSizeCount& batch = *counters.add_batches();
    batch.set_size(size);
    batch.set_count(count);
  }
  counters.set_verified(12);
  counters.set_mismatches(13);
  counters.set_faults(14);
  counters.set_losses(15);
  counters.set_moved(16);
  counters.set_uploaded_bytes(17);
  counters.set_kept_inputs(18);
  counters.set_evictions(19);
  counters.set_kept_results(20);
  counters.set_read_results(21);
  counters.set_recomputed_results(22);
  return gpu;
}

// The only device of a server that tells `device`.
DeviceInfo Decoded(const v1::DeviceInfo& device) {
  v1::GetServerInfoResponse response;
  *response.add_devices() = device;
  ServerInfo info = DecodeServerInfo(response);
  EXPECT_THAT(info.devices, SizeIs(1));
  return info.devices[0];
}

TEST(DevicesTest, EveryFieldOfADeviceIsDecoded) {
  const DeviceInfo info = Decoded(Gpu());
  EXPECT_EQ(info.name, "d3d12/X");
  EXPECT_EQ(info.description, "Adapter X");
  EXPECT_EQ(info.threads, 0u);
  EXPECT_EQ(info.kind, DeviceInfo::Kind::kGpu);
  EXPECT_EQ(info.runtime, "vkd3d");
  EXPECT_EQ(info.driver, "drv 1.2");
  EXPECT_EQ(info.feature_level, "11_0");
  EXPECT_EQ(info.memory_bytes, 1ull << 34);
  EXPECT_TRUE(info.software);
  EXPECT_EQ(info.state, DeviceInfo::State::kLost);
  EXPECT_EQ(info.state_reason, "it hung");
  EXPECT_EQ(info.pending_requests, 3u);
  EXPECT_EQ(info.pending_bytes, 300u);
  EXPECT_EQ(info.batches_in_flight, 2u);
  EXPECT_EQ(info.memory_budget_bytes, 700u);
  EXPECT_EQ(info.kept_bytes, 500u);
}

TEST(DevicesTest, EveryCounterIsDecoded) {
  const DeviceCounters counters = Decoded(Gpu()).counters;
  EXPECT_EQ(counters.requests, 11u);
  EXPECT_THAT(counters.batches, ElementsAre(BatchSizeCount{1, 3}, BatchSizeCount{4, 2}));
  EXPECT_EQ(counters.verified, 12u);
  EXPECT_EQ(counters.mismatches, 13u);
  EXPECT_EQ(counters.faults, 14u);
  EXPECT_EQ(counters.losses, 15u);
  EXPECT_EQ(counters.moved, 16u);
  EXPECT_EQ(counters.uploaded_bytes, 17u);
  EXPECT_EQ(counters.kept_inputs, 18u);
  EXPECT_EQ(counters.evictions, 19u);
  EXPECT_EQ(counters.kept_results, 20u);
  EXPECT_EQ(counters.read_results, 21u);
  EXPECT_EQ(counters.recomputed_results, 22u);
}

TEST(DevicesTest, TheAverageBatchWeighsBySize) {
  EXPECT_DOUBLE_EQ(DeviceCounters{}.AverageBatch(), 0);
  DeviceCounters counters;
  counters.batches = {{1, 3}, {4, 2}};
  EXPECT_DOUBLE_EQ(counters.AverageBatch(), 11.0 / 5);
  // Sums beyond 64 bits do not wrap.
  counters.batches = {{UINT32_MAX, UINT64_MAX}};
  EXPECT_DOUBLE_EQ(counters.AverageBatch(), UINT32_MAX);
}

TEST(DevicesTest, KindsAndStatesHaveTheNamesAndNumbersOfTheContract) {
  for (int number = 1; number < v1::DeviceKind_ARRAYSIZE; ++number) {
    v1::DeviceInfo device;
    device.set_kind(static_cast<v1::DeviceKind>(number));
    EXPECT_EQ("DEVICE_KIND_" + std::string(NameOf(Decoded(device).kind)),
              v1::DeviceKind_Name(number));
  }
  for (int number = 1; number < v1::DeviceState_ARRAYSIZE; ++number) {
    v1::DeviceInfo device;
    device.set_state(static_cast<v1::DeviceState>(number));
    EXPECT_EQ("DEVICE_STATE_" + std::string(NameOf(Decoded(device).state)),
              v1::DeviceState_Name(number));
  }
}

TEST(DevicesTest, KindsAndStatesOfANewerServerAreUnknown) {
  v1::DeviceInfo device;
  EXPECT_EQ(Decoded(device).kind, DeviceInfo::Kind::kUnknown);
  EXPECT_EQ(Decoded(device).state, DeviceInfo::State::kUnknown);
  // 257 would be 1 in eight bits.
  for (int number : {99, 257, -1}) {
    device.set_kind(static_cast<v1::DeviceKind>(number));
    device.set_state(static_cast<v1::DeviceState>(number));
    EXPECT_EQ(NameOf(Decoded(device).kind), "UNKNOWN");
    EXPECT_EQ(NameOf(Decoded(device).state), "UNKNOWN");
  }
}

TEST(DevicesTest, BatchLimitsAreDecoded) {
  v1::GetServerInfoResponse response;
  response.mutable_limits()->set_max_batch_requests(256);
  response.mutable_limits()->set_max_batch_bytes(1 << 26);
  const ServerLimits limits = DecodeServerInfo(response).limits;
  EXPECT_EQ(limits.max_batch_requests, 256u);
  EXPECT_EQ(limits.max_batch_bytes, 1u << 26);
}

TEST(DevicesTest, LimitsOfLeasesAreDecoded) {
  v1::GetServerInfoResponse response;
  response.mutable_limits()->set_max_device_lease_s(600);
  response.mutable_limits()->set_max_device_leases_per_client(4);
  const ServerLimits limits = DecodeServerInfo(response).limits;
  EXPECT_EQ(limits.max_device_lease, absl::Minutes(10));
  EXPECT_EQ(limits.max_device_leases_per_client, 4u);
}

TEST(DevicesTest, AnOperatorTellsWhichDeviceRunsWhichTypes) {
  v1::ListOperatorsResponse response;
  v1::OperatorDevice& device = *response.add_operators()->add_devices();
  device.set_device("d3d12/X");
  device.set_tensor("ATensor");
  device.add_data_types(v1::DATA_TYPE_FLOAT32);
  device.add_data_types(static_cast<v1::DataType>(77));
  const Catalogue catalogue = DecodeCatalogue(response);
  ASSERT_THAT(catalogue.operators[0].devices, SizeIs(1));
  EXPECT_EQ(catalogue.operators[0].devices[0].device, "d3d12/X");
  EXPECT_EQ(catalogue.operators[0].devices[0].tensor, "ATensor");
  EXPECT_THAT(catalogue.operators[0].devices[0].data_types, ElementsAre(DataType::kFloat32));
}

TEST(DevicesTest, HowACallWasRunIsDecoded) {
  v1::ExecutionInfo message;
  message.set_device("d3d12/X");
  message.set_batch_size(7);
  message.set_queue_time_ns(8);
  message.set_run_time_ns(9);
  message.set_attempts(2);
  message.set_verified(true);
  const ExecutionInfo info = DecodeExecution(message);
  EXPECT_EQ(info.device, "d3d12/X");
  EXPECT_EQ(info.batch_size, 7u);
  EXPECT_EQ(info.queue_time, absl::Nanoseconds(8));
  EXPECT_EQ(info.run_time, absl::Nanoseconds(9));
  EXPECT_EQ(info.attempts, 2u);
  EXPECT_TRUE(info.verified);
}

TEST(DevicesTest, SelfTestsAreDecoded) {
  v1::SelfTestDevicesResponse response;
  EXPECT_THAT(DecodeSelfTests(response), IsEmpty());
  v1::SelfTestResult& good = *response.add_results();
  good.set_device("d3d12/X");
  good.set_passed(true);
  good.set_cases(500);
  good.set_duration_ns(1'500'000);
  v1::SelfTestResult& bad = *response.add_results();
  bad.set_device("d3d12/Y");
  bad.set_failure("element 3 differs");
  const std::vector<SelfTestReport> reports = DecodeSelfTests(response);
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].device, "d3d12/X");
  EXPECT_TRUE(reports[0].passed);
  EXPECT_EQ(reports[0].cases, 500u);
  EXPECT_EQ(reports[0].duration, absl::Microseconds(1500));
  EXPECT_FALSE(reports[1].passed);
  EXPECT_EQ(reports[1].failure, "element 3 differs");
}

TEST(CatalogueTest, AttributesSayTheirKindAsAnEnum) {
  constexpr AttributeValueKind kKinds[] = {AttributeValueKind::kEnum, AttributeValueKind::kInt,
                                           AttributeValueKind::kFloat, AttributeValueKind::kAxes,
                                           AttributeValueKind::kUnknown};
  v1::ListOperatorsResponse response;
  v1::OperatorInfo& op = *response.add_operators();
  for (const char* name : {"enum", "int", "float", "axes", "complex"})
    op.add_attributes()->set_kind(name);
  const Catalogue catalogue = DecodeCatalogue(response);
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    const AttributeInfo& attribute = catalogue.operators[0].attributes[i];
    EXPECT_EQ(attribute.value_kind, kKinds[i]);
    EXPECT_EQ(attribute.kind, op.attributes(static_cast<int>(i)).kind());
    EXPECT_EQ(NameOf(attribute.value_kind), i < 4 ? attribute.kind : "unknown");
  }
}

}  // namespace
}  // namespace opserve::client_internal
