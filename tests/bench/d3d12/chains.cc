// Section "chains": sequences in one submission, against a call per step.

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::bench {
namespace {

std::shared_ptr<const SequenceInvocation> ChainOf(int steps, uint64_t bytes) {
  testing::SequenceBuilder builder;
  const auto count = static_cast<uint32_t>(bytes / sizeof(float));
  TensorSource last = builder.Input({DataType::kFloat32, {count}});
  for (int i = 0; i < steps; ++i) last = builder.Round(last);
  return builder.Return(last).Validate().sequence;
}

// The steps as calls of their own, each on the result of the one before: two buffers take turns.
absl::Status RunStepByStep(d3d12::D3D12Device& device, const Invocation& step, int steps,
                           const Buffer& input, Buffer (&results)[2]) {
  const std::byte* from = input.data();
  for (int i = 0; i < steps; ++i) {
    DeviceCall call = {&step, {}, results[i % 2].data()};
    call.inputs[0] = {from};
    if (absl::Status status = device.Run({&call, 1}); !status.ok()) return status;
    from = call.output;
  }
  return absl::OkStatus();
}

// The chain with a volatile result, which stays on the device in the place of the one before.
class ResidentChain {
 public:
  ResidentChain(BenchContext& context, d3d12::D3D12Device& device, SequenceCall call)
      : context_(context), device_(device), call_(std::move(call)) {}
  ~ResidentChain() { device_.Release(last_, /*is_of_use=*/false); }
  ResidentChain(const ResidentChain&) = delete;
  ResidentChain& operator=(const ResidentChain&) = delete;

  // Fails where the device handed the result over.
  absl::Status Run() {
    bool stays = false;
    const ContentId fresh = context_.NextContent();
    call_.contents = {{.id = fresh, .replaced = last_, .stays = &stays, .is_volatile = true}};
    DeviceCall call;
    call.sequence = &call_;
    if (absl::Status status = device_.Run({&call, 1}); !status.ok()) return status;
    device_.Release(last_, /*is_of_use=*/false);
    last_ = fresh;
    return stays ? absl::OkStatus() : absl::InternalError("The result did not stay.");
  }

 private:
  BenchContext& context_;
  d3d12::D3D12Device& device_;
  SequenceCall call_;
  ContentId last_ = kNoContent;
};

absl::Status MeasureChain(BenchContext& context, d3d12::D3D12Device& device, int steps,
                          uint64_t bytes, SectionResult& result) {
  const auto sequence = ChainOf(steps, bytes);
  if (sequence == nullptr) return absl::InternalError("The sequence is not valid.");
  const auto step = CallOfBytes(kOneBenchCase, bytes);
  const CallBuffers buffers(*step, Values::kUsual);
  Buffer output(bytes);
  Buffer results[2] = {Buffer(bytes), Buffer(bytes)};
  const SequenceCall call = {.sequence = sequence.get(),
                             .inputs = {{buffers.inputs[0].data(), context.NextContent()}},
                             .outputs = {output.data()}};
  DeviceCall chained;
  chained.sequence = &call;
  absl::Status status;
  ResidentChain resident(context, device, call);
  const std::vector<double> seconds = context.Seconds(
      {{[&](int) {
         status.Update(device.Run({&chained, 1}));
       }},
       {[&](int) { status.Update(resident.Run()); }},
       {[&](int) {
         status.Update(RunStepByStep(device, *step, steps, buffers.inputs[0], results));
       }}});
  if (!status.ok()) return status;
  result.rows.push_back({.name = absl::StrCat(steps, steps == 1 ? " step" : " steps"),
                         .bytes = bytes,
                         .unit = "1/s",
                         .value = 1 / seconds[0],
                         .ceiling = 1 / seconds[2],
                         .against = "calls"});
  result.rows.push_back({.name = absl::StrCat(result.rows.back().name, ", stays"),
                         .bytes = bytes,
                         .unit = "1/s",
                         .value = 1 / seconds[1],
                         .ceiling = 1 / seconds[2],
                         .against = "calls"});
  if (steps == 8) result.rows.back().goal = {Goal::Kind::kAtLeast, 10};
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureChains(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  for (int steps = 1; steps <= 64; steps *= 2) {
    const uint64_t bytes = context.Sized(16 * kMiB, kMiB, 64 * kKiB);
    if (absl::Status status = MeasureChain(context, **device, steps, bytes, result); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
