// A server with a real Direct3D 12 device, and tensors that are placed on it.

#include <cmath>
#include <memory>
#include <random>

#include "gmock/gmock.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/runtime/hresult.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"
#include "tests/integration/resident_fixture.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/wait_until.h"
#include "tests/testing/required.h"

namespace opserve::testing {
namespace {

constexpr char kGpu[] = "d3d12/test";
constexpr uint32_t kCount = 5000;

class GpuResidentTest : public ResidentTensorTest {
 protected:
  void SetUp() override {
    const auto& device = opserve::testing::TestDevice();
    if (absl::IsNotFound(device.status())) return SkipWithout("gpu", device.status().message());
    ASSERT_TRUE(device.ok()) << device.status();
    for (const d3d12::AdapterInfo& adapter : (*TestRuntime())->adapters()) {
      if (adapter.name == (*device)->profile().description) adapter_ = adapter.index;
    }
    profile_ = (*device)->profile();
    profile_.name = kGpu;
  }

  // The budget is that of the device's memory.
  void StartWithGpu(uint64_t budget = uint64_t{1} << 30) {
    options_.pool.health.min_backoff = std::chrono::milliseconds(1);
    options_.pool.health.max_backoff = std::chrono::milliseconds(4);
    const d3d12::DeviceOptions device_options = {.name = kGpu, .memory_budget = budget};
    const auto create = [this, device_options]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> {
      return d3d12::D3D12Device::Create(*TestRuntime(), adapter_, device_options);
    };
    std::vector<DeviceSource> gpus = {{.profile = profile_, .create = create}};
    Start({.find_gpus = [gpus] { return gpus; }});
  }
  v1::DeviceInfo Gpu() { return Info().devices(1); }

  std::string CreateOnGpu(const Floats& values, bool is_volatile = false) {
    v1::CreateTensorRequest request = NewFloats(values);
    request.set_device(kGpu);
    request.set_is_volatile(is_volatile);
    return Create(request).tensor();
  }

  // b = a modulo b in place, or whatever `request` says; where it ran.
  std::string Modulus(const std::string& a, const std::string& b, const std::string& output,
                      v1::DevicePreference device = v1::DEVICE_PREFERENCE_UNSPECIFIED) {
    v1::ExecuteRequest request;
    request.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
    request.set_device(device);
    for (const std::string& input : {a, b}) {
      request.add_inputs();
      *request.add_input_places() = InTensor(input);
    }
    *request.mutable_output_place() = InTensor(output);
    const Answer answer = Execute(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.response.execution().device();
  }

  Floats RandomFloats() {
    Floats values;
    for (uint32_t i = 0; i < kCount; ++i) {
      values.push_back(std::uniform_real_distribution<float>(1, 1e6f)(random_));
    }
    return values;
  }

  std::mt19937_64 random_{20261122};
  DeviceProfile profile_;
  int adapter_ = 0;
};

// x = x mod y, for many y: all but the first call find x on the device.
TEST_F(GpuResidentTest, AChainInPlaceUploadsNothingAfterItsFirstCall) {
  StartWithGpu();
  const Floats start = RandomFloats();
  const std::string on_gpu = CreateOnGpu(start);
  const std::string on_cpu = CreateFloats(start);
  std::vector<std::string> divisors;
  for (int i = 0; i < 4; ++i) divisors.push_back(CreateOnGpu(RandomFloats()));
  uint64_t uploaded = 0;
  for (int call = 0; call < 20; ++call) {
    const std::string& divisor = divisors[call % divisors.size()];
    EXPECT_EQ(Modulus(on_gpu, divisor, on_gpu), kGpu);
    Modulus(on_cpu, divisor, on_cpu, v1::DEVICE_PREFERENCE_CPU);
    ASSERT_EQ(Values(on_gpu), Values(on_cpu)) << "call " << call;
    // Each divisor is uploaded once.
    if (call < 4) uploaded = Gpu().counters().uploaded_bytes();
    EXPECT_EQ(Gpu().counters().uploaded_bytes(), uploaded) << "call " << call;
  }
  EXPECT_EQ(Gpu().counters().kept_inputs(), 19 + 16);
  // The value and four divisors, each in the least part of a slab that holds it.
  EXPECT_EQ(Gpu().kept_bytes(), 5 * 20224);
  EXPECT_EQ(Gpu().counters().evictions(), 0);
}

// The host has them only once they are read, from where they were computed or anew.
TEST_F(GpuResidentTest, AChainIsReadBackOnceItIsRead) {
  StartWithGpu();
  const Floats start = RandomFloats();
  const std::string on_gpu = CreateOnGpu(start);
  const std::string on_cpu = CreateFloats(start);
  const auto chain = [&] {
    for (int call = 0; call < 8; ++call) {
      const std::string divisor = CreateOnGpu(RandomFloats());
      EXPECT_EQ(Modulus(on_gpu, divisor, on_gpu), kGpu);
      Modulus(on_cpu, divisor, on_cpu, v1::DEVICE_PREFERENCE_CPU);
      // What unread results may have to be computed from is kept.
      EXPECT_EQ(Delete(divisor), 1);
    }
  };
  chain();
  // The processor needs the divisors alone.
  EXPECT_EQ(Gpu().counters().kept_results(), 8);
  EXPECT_EQ(Gpu().counters().read_results(), 0);
  EXPECT_EQ(Values(on_gpu), Values(on_cpu));
  EXPECT_EQ(Gpu().counters().read_results(), 1);
  chain();
  FailingCall fault("->Signal", kDeviceRemoved);
  {
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(Values(on_gpu), Values(on_cpu));
  }
  EXPECT_EQ(Gpu().counters().losses(), 1);
  EXPECT_EQ(Gpu().counters().read_results(), 1);
  EXPECT_EQ(Gpu().counters().recomputed_results(), 8);
  ASSERT_TRUE(WaitUntil([this] { return Gpu().state() == v1::DEVICE_STATE_READY; }));
  chain();
  EXPECT_EQ(Values(on_gpu), Values(on_cpu));
}

// Room for three tensors beside what a call takes. Hardware is measured before it serves, with less
// than it would be if it had more memory.
class GpuResidentEvictionTest : public GpuResidentTest,
                                public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(IsSoftware, GpuResidentEvictionTest, ::testing::Bool());

TEST_P(GpuResidentEvictionTest, TensorsAreEvictedToTheHost) {
  profile_.is_software = GetParam();
  options_.pool.calibration_bytes = uint64_t{1} << 20;
  StartWithGpu(/*budget=*/3 * d3d12::kMinBufferBytes);
  const Floats ones(kCount, 1);
  std::vector<Floats> values;
  std::vector<std::string> tensors;
  for (int i = 0; i < 8; ++i) {
    values.push_back(RandomFloats());
    tensors.push_back(CreateOnGpu(values.back()));
  }
  const std::string one = CreateFloats(ones);
  const std::string result = CreateOnGpu(ones);
  const std::string expected = CreateFloats(ones);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(Modulus(tensors[i], one, result), kGpu);
      Modulus(tensors[i], one, expected, v1::DEVICE_PREFERENCE_CPU);
      EXPECT_EQ(Values(result), Values(expected));
      EXPECT_EQ(Values(tensors[i]), values[i]);
    }
  }
  EXPECT_GT(Gpu().counters().evictions(), 0);
}

// Half the chain on a device that is then lost, half on the one that takes its place.
TEST_F(GpuResidentTest, TheLossOfTheDeviceLosesNothing) {
  StartWithGpu();
  const Floats start = RandomFloats();
  const std::string on_gpu = CreateOnGpu(start);
  const std::string on_cpu = CreateFloats(start);
  const std::string divisor = CreateOnGpu(RandomFloats());
  const std::string divisor_after = CreateOnGpu(RandomFloats());
  EXPECT_EQ(Modulus(on_gpu, divisor, on_gpu), kGpu);
  Modulus(on_cpu, divisor, on_cpu, v1::DEVICE_PREFERENCE_CPU);
  const Floats acknowledged = Values(on_cpu);
  FailingCall fault("->Signal", kDeviceRemoved);
  {
    d3d12::ScopedFaultInjector injector(fault);
    // What the lost device was at is done again elsewhere.
    EXPECT_NE(Modulus(on_gpu, divisor, on_gpu), kGpu);
    EXPECT_EQ(Values(on_gpu), acknowledged);
    EXPECT_EQ(Gpu().counters().losses(), 1);
  }
  ASSERT_TRUE(WaitUntil([this] { return Gpu().state() == v1::DEVICE_STATE_READY; }));
  EXPECT_EQ(Gpu().kept_bytes(), 0);
  EXPECT_EQ(Modulus(on_gpu, divisor_after, on_gpu), kGpu);
  Modulus(on_cpu, divisor_after, on_cpu, v1::DEVICE_PREFERENCE_CPU);
  EXPECT_EQ(Values(on_gpu), Values(on_cpu));
}

// More steps than anything could be computed again by, while other tensors take the room that there
// is; then a sequence, and the loss of the device.
TEST_F(GpuResidentTest, VolatileResultsStayUnderPressureAndEndWithTheirDevice) {
  StartWithGpu(/*budget=*/6 * d3d12::kMinBufferBytes);
  const Floats start = RandomFloats();
  const std::string on_gpu = CreateOnGpu(start, /*is_volatile=*/true);
  const std::string on_cpu = CreateFloats(start);
  std::vector<std::string> others;
  for (int i = 0; i < 12; ++i) others.push_back(CreateOnGpu(RandomFloats()));
  const std::string result = CreateOnGpu(start);
  for (int call = 0; call < 24; ++call) {
    const std::string& divisor = others[call % others.size()];
    EXPECT_EQ(Modulus(on_gpu, divisor, on_gpu), kGpu);
    Modulus(on_cpu, divisor, on_cpu, v1::DEVICE_PREFERENCE_CPU);
    EXPECT_EQ(Modulus(others[(call + 5) % others.size()], divisor, result), kGpu);
  }
  EXPECT_GT(Gpu().counters().evictions(), 0);
  EXPECT_EQ(Gpu().counters().recomputed_results(), 0);
  EXPECT_EQ(Values(on_gpu), Values(on_cpu));
  const uint64_t kept = Gpu().counters().kept_results();
  v1::ExecuteSequenceRequest sequence;
  sequence.add_inputs();
  *sequence.add_input_places() = InTensor(others[0]);
  AddRound(sequence, SequenceInput(0));
  AddRound(sequence, StepInputFrom(0));
  *sequence.add_outputs()->mutable_place() = InTensor(on_gpu);
  sequence.mutable_outputs(0)->set_step(1);
  v1::ExecuteSequenceResponse response;
  const auto run = [&] { return Call(&Stub::ExecuteSequence, sequence, response); };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(Gpu().counters().kept_results(), kept + 1);
  Floats rounded = Values(others[0]);
  for (float& value : rounded) value = std::nearbyint(value);
  EXPECT_EQ(Values(on_gpu), rounded);
  ASSERT_TRUE(run().ok());
  FailingCall fault("->Signal", kDeviceRemoved);
  {
    d3d12::ScopedFaultInjector injector(fault);
    v1::ReadTensorResponse lost;
    EXPECT_EQ(ReasonOf(Read(on_gpu, lost)), "TENSOR_LOST");
  }
  EXPECT_EQ(ReasonOf(Write(on_gpu, 4, BytesOf(Floats{1}))), "TENSOR_LOST");
  EXPECT_TRUE(Write(on_gpu, 0, BytesOf(start)).ok());
  EXPECT_EQ(Values(on_gpu), start);
}

}  // namespace
}  // namespace opserve::testing
