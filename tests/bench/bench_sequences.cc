// Measures a chain of operators block by block against the same steps one by one, in the same run.

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/sequence_plan.h"
#include "tests/bench/kernel_call.h"
#include "tests/bench/measure.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::bench {
namespace {

using testing::SequenceBuilder;

constexpr size_t kMiB = size_t{1} << 20;
constexpr int kSteps = 10;

struct Case {
  const char* name;
  // Fills in the steps over a vector of FLOAT32.
  void (*add_steps)(SequenceBuilder& builder, TensorSource x);
};

void AddRounds(SequenceBuilder& builder, TensorSource x) {
  for (int i = 0; i < kSteps; ++i) x = builder.Round(x, i % 3);
}

// IF(IS_INFINITY(x), ROUND(x), x), and so on: two results live at a time.
void AddChoices(SequenceBuilder& builder, TensorSource x) {
  for (int i = 0; i < 2; ++i) {
    const TensorSource is_infinite = builder.IsInfinity(x);
    const TensorSource rounded = builder.Round(x, 1);
    x = builder.If(is_infinite, x, rounded);
    x = builder.Round(x, 0);
    x = builder.Round(x, 2);
  }
}

constexpr Case kCases[] = {{"10 x ROUND", AddRounds},
                           {"2 x (IS_INFINITY, ROUND, IF, 2 ROUND)", AddChoices}};

std::shared_ptr<const SequenceInvocation> MakeSequence(const Case& each, size_t bytes) {
  SequenceBuilder builder;
  const auto count = static_cast<uint32_t>(bytes / sizeof(float));
  each.add_steps(builder, builder.Input({DataType::kFloat32, {count}}));
  return builder.Validate().sequence;
}

// A buffer per result: what a caller has who makes a call per step.
class StepByStep {
 public:
  StepByStep(const SequenceInvocation& sequence, const Buffer& input)
      : sequence_(sequence), input_(input) {
    for (const SequenceStep& step : sequence.steps) results_.emplace_back(step.call->output_bytes);
  }

  void Run(const CpuExecutor& executor) {
    for (size_t s = 0; s < results_.size(); ++s) {
      const SequenceStep& step = sequence_.steps[s];
      std::array<const std::byte*, kMaxInputs> inputs = {};
      const auto count = static_cast<size_t>(TraitsOf(step.call->op).input_count());
      for (size_t i = 0; i < count; ++i) {
        inputs[i] = step.sources[i].kind == TensorSource::Kind::kInput
                        ? input_.data()
                        : results_[step.sources[i].index].data();
      }
      executor.Run(*step.call, std::span(inputs).first(count), results_[s].data());
    }
  }

 private:
  const SequenceInvocation& sequence_;
  const Buffer& input_;
  std::vector<Buffer> results_;
};

void Measure(const Case& each, size_t bytes, int threads, const Effort& effort) {
  const auto sequence = MakeSequence(each, bytes);
  const CpuExecutor executor(threads);
  const Buffer input(bytes);
  Buffer output(bytes);
  Buffer workspace(sequence->plan.workspace_bytes);
  StepByStep steps(*sequence, input);
  const std::byte* const inputs[] = {input.data()};
  std::byte* const outputs[] = {output.data()};
  const std::vector<double> seconds = MedianSeconds(
      {{[&](int) { executor.RunSequence(*sequence, inputs, outputs, workspace.data()); }},
       {[&](int) { steps.Run(executor); }}},
      effort);
  absl::PrintF("%-36s %5d MiB %8d %12.3f %12.3f %7.2f\n", each.name, bytes / kMiB, threads,
               seconds[0] * 1e3, seconds[1] * 1e3, seconds[1] / seconds[0]);
  std::fflush(stdout);
}

int Run(bool smoke, int repeats) {
  const Effort effort =
      smoke ? Effort{.repeats = 1, .batch_seconds = 0} : Effort{.repeats = repeats};
  absl::PrintF(
      "Sequences of %d FLOAT32 operators on %s, one input and one output of this size.\n\n"
      "%-36s %9s %8s %12s %12s %7s\n",
      kSteps, CpuTargetName(), "sequence", "size", "threads", "blocks, ms", "steps, ms", "ratio");
  for (const Case& each : kCases) {
    for (const size_t bytes : {kMiB, smoke ? 2 * kMiB : 64 * kMiB}) {
      for (const int threads : {1, 2}) Measure(each, bytes, threads, effort);
    }
  }
  return 0;
}

}  // namespace
}  // namespace opserve::bench

int main(int argc, char** argv) {
  bool smoke = false;
  int repeats = 31;
  CLI::App app("Measures sequences of operators, block by block against step by step.");
  app.add_option("--repeats", repeats, "Interleaved batches per row; medians are compared")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--smoke", smoke, "Every row once, small: checks that the program works");
  CLI11_PARSE(app, argc, argv);
  return opserve::bench::Run(smoke, repeats);
}
