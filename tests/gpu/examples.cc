#include "tests/gpu/examples.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>

#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

absl::Status RunAndCompare(ComputeDevice& device, std::span<const Example* const> examples) {
  std::vector<SentinelOutput> outputs;
  std::vector<DeviceCall> calls;
  for (const Example* example : examples) {
    // At addresses of every alignment.
    outputs.emplace_back(example->call->output_bytes, /*misalignment=*/outputs.size() % 9);
    calls.push_back(CallOf(*example->call, PointersTo(example->inputs), outputs.back().data()));
  }
  absl::Status status = device.Run(calls);
  if (!status.ok()) return status;
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(Difference(*examples[i]->call, examples[i]->expected.data(), calls[i].output), "")
        << "call " << i << " of " << calls.size();
    EXPECT_TRUE(outputs[i].intact()) << "call " << i << " of " << calls.size();
  }
  return status;
}

Example MakeRound(const Layout& layout, uint64_t seed) {
  std::mt19937_64 random(seed);
  return MakeExample(MakeCall({FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat16}, 2, layout),
                     random);
}

}  // namespace

std::optional<int32_t> FailingCall::Fail(absl::string_view call) {
  if (std::string(call).find(word_) == std::string::npos) return std::nullopt;
  if (!armed) {
    ++passes;
    return std::nullopt;
  }
  ++failures;
  return result_;
}

Example MakeExample(std::shared_ptr<const Invocation> call, std::mt19937_64& random) {
  Example example;
  example.inputs = MakeInputs(*call, random);
  example.expected = ReferenceOutput(*call, PointersTo(example.inputs));
  example.call = std::move(call);
  return example;
}

Example MakeExample(uint32_t count, uint64_t seed) { return MakeRound(Packed(count), seed); }

Example MakeStridedExample(uint32_t count, uint64_t seed) {
  return MakeRound({"strided", {count}, {{3}, {}, {}, {2}}}, seed);
}

absl::Status RunBatch(ComputeDevice& device, const std::vector<Example>& examples) {
  std::vector<const Example*> pointers;
  for (const Example& example : examples) pointers.push_back(&example);
  return RunAndCompare(device, pointers);
}

absl::Status RunExample(ComputeDevice& device, const Example& example) {
  const Example* const one = &example;
  return RunAndCompare(device, {&one, 1});
}

int PassesOf(std::string word, absl::FunctionRef<absl::Status()> run) {
  FailingCall calls(std::move(word), 0);
  calls.armed = false;
  d3d12::ScopedFaultInjector injector(calls);
  const absl::Status status = run();
  EXPECT_TRUE(status.ok()) << status;
  return calls.passes;
}

std::unique_ptr<d3d12::D3D12Device> WarmedUp(
    absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> made) {
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return nullptr;
  EXPECT_TRUE(RunExample(**made, MakeExample(1000, 1)).ok());
  return *std::move(made);
}

}  // namespace opserve::testing
