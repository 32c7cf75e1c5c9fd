// Proves elementary functions: every FLOAT32 there is, on a target of each class, rounded once; or
// as GPU kernels compute them, by the text of these. And all operators of one input as an adapter
// computes them (tests/prove/adapter_proof.h).
//
// Kernels are compared with the reference, which computes in another way. Where the two differ, and
// in blocks where a kernel could not decide an element by itself, MPFR says what is right.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "hwy/targets.h"
#include "kernels/attribute_settings.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/slow/decisions.h"
#include "kernels/reference.h"
#include "proto/base/mutex.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/exact_values.h"
#include "tests/conformance/gpu_text.h"
#include "tests/conformance/targets.h"
#include "tests/prove/adapter_proof.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kAll = uint64_t{1} << 32;
constexpr size_t kBlock = 1024;

// The operators of one input whose result depends on nothing else.
std::vector<OpId> ProvableOperators() {
  std::vector<OpId> ops;
  for (const OpId op : TranscendentalOperators()) {
    if (TraitsOf(op).input_count() == 1 && TraitsOf(op).attributes.empty()) ops.push_back(op);
  }
  return ops;
}

// The best target that fuses multiplication and addition, the one that computes functions in pairs
// of FLOAT32 lanes, and the best that does not fuse.
std::vector<int64_t> TargetClasses() {
  constexpr int64_t kFusing = HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL;
  constexpr int64_t kWithPairs = HWY_AVX2;
  std::vector<int64_t> classes;
  for (const int64_t members : {kFusing, kWithPairs, ~kFusing}) {
    for (const int64_t target : RunnableTargets()) {
      if ((target & members) == 0) continue;
      if (classes.empty() || classes.back() != target) classes.push_back(target);
      break;
    }
  }
  return classes;
}

bool IsSame(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// A proof of one operator on some targets; where there are none, of its GPU kernels.
class Proof {
 public:
  Proof(OpId op, const std::vector<int64_t>& targets, uint64_t stride)
      : op_(op), stride_(stride), gpu_(GpuBodyOf(op, DataType::kFloat32)) {
    call_ = MakeCall({&TraitsOf(op), DataType::kFloat32, DataType::kFloat32}, 0, Packed(kBlock));
    for (const int64_t target : targets) {
      const ScopedTarget scoped(target);
      kernels_.push_back(cpu::GetKernel(op, {DataType::kFloat32, DataType::kFloat32}));
    }
  }

  void Run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  uint64_t inputs() const { return inputs_; }
  uint64_t asked() const { return asked_; }
  uint64_t wrong() const { return wrong_; }

 private:
  void Work() {
    std::vector<float> x(kBlock);
    std::vector<float> expected(kBlock);
    std::vector<float> actual(kBlock);
    const uint64_t count = kAll / stride_;
    for (uint64_t first; (first = next_.fetch_add(kBlock)) < count;) {
      for (size_t i = 0; i < kBlock; ++i) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>((first + i) * stride_));
      }
      const auto* input = reinterpret_cast<const std::byte*>(x.data());
      RunReference(*call_, {&input, 1}, reinterpret_cast<std::byte*>(expected.data()));
      for (const cpu::FlatKernel kernel : kernels_) {
        const uint64_t decisions = cpu::slow::DecisionCount();
        kernel(&input, reinterpret_cast<std::byte*>(actual.data()), kBlock, cpu::StoreMode::kCached,
               {});
        Compare(x, expected, actual, cpu::slow::DecisionCount() != decisions);
      }
      if (kernels_.empty()) {
        for (size_t i = 0; i < kBlock; ++i) {
          actual[i] = std::bit_cast<float>(gpu_(std::bit_cast<uint32_t>(x[i]), 0, {}).bits);
        }
        Compare(x, expected, actual, false);
      }
      inputs_ += kBlock;
    }
    FreeExactValuesOfThread();
  }

  void Compare(const std::vector<float>& x, const std::vector<float>& expected,
               const std::vector<float>& actual, bool all) {
    for (size_t i = 0; i < kBlock; ++i) {
      if (!all && IsSame(expected[i], actual[i])) continue;
      ++asked_;
      const auto exact = static_cast<float>(ExactResult(op_, {{x[i], 0}, {}}));
      if (IsSame(exact, actual[i])) continue;
      if (wrong_.fetch_add(1) < 10) {
        const MutexLock lock(printing_);
        std::printf("  %a gives %a, not %a\n", x[i], actual[i], exact);
      }
    }
  }

  const OpId op_;
  const uint64_t stride_;
  std::shared_ptr<const Invocation> call_;
  std::vector<cpu::FlatKernel> kernels_;
  const GpuBody gpu_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<uint64_t> inputs_ = 0;
  std::atomic<uint64_t> asked_ = 0;
  std::atomic<uint64_t> wrong_ = 0;
  Mutex printing_;
};

// Returns whether nothing was wrong.
bool Prove(OpId op, const std::vector<int64_t>& targets, uint64_t stride) {
  const auto begun = std::chrono::steady_clock::now();
  Proof proof(op, targets, stride);
  proof.Run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
  absl::PrintF("%-22s %11d inputs, %6d asked, %4d wrong, %6.1f s\n", TraitsOf(op).name,
               proof.inputs(), proof.asked(), proof.wrong(), seconds.count());
  std::fflush(stdout);
  return proof.wrong() == 0;
}

enum ExitCode { kProven = 0, kWrong = 1, kBadUsage = 2, kNoHardware = 3 };

constexpr char kHelp[] =
    "Compares elementary functions of all FLOAT32 with MPFR: as the processor computes them, or\n"
    "by the text of GPU kernels. With --device or --adapter, compares GPU kernels of operators\n"
    "of one input, as they run, with the processor's kernels, for all FLOAT16 and FLOAT32.\n"
    "\n"
    "Exit codes: 0 nothing is wrong; 1 something is, or failed; 2 the command line is wrong;\n"
    "3 there is no such adapter as --device needs, or none at all.";

struct CommandLine {
  std::vector<std::string> names;
  bool of_text = false;
  bool of_hardware = false;
  std::optional<int> adapter;
  AdapterProofOptions options;

  bool of_adapter() const { return of_hardware || adapter.has_value(); }
};

void AddOptions(CLI::App& app, CommandLine& line) {
  app.add_option("OPERATOR", line.names, "Which to prove; all where none is named");
  app.add_option("--stride", line.options.stride, "Takes one FLOAT32 of so many")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
  CLI::Option* const text = app.add_flag(
      "--gpu", line.of_text,
      "Proves the text of GPU kernels, which takes some ten times as long as the processor's");
  app.add_flag("--device", line.of_hardware,
               "Proves GPU kernels as the first hardware adapter runs them")
      ->excludes(text);
  app.add_option("--adapter", line.adapter,
                 "Proves them on the adapter at this position, which may be a software adapter")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20).description(""))
      ->excludes(text);
  app.add_flag("--usual", line.options.is_usual,
               "With adapters: takes attributes at their usual values alone, and each mode");
}

std::vector<OpId> CandidatesOf(const CommandLine& line) {
  if (line.of_adapter()) return OperatorsOfAdapters();
  std::vector<OpId> ops = ProvableOperators();
  std::erase_if(ops, [&line](OpId op) {
    return line.of_text && GpuBodyOf(op, DataType::kFloat32) == nullptr;
  });
  return ops;
}

// The operators to prove; none where a name is none of theirs.
std::vector<OpId> OperatorsOf(const CommandLine& line) {
  std::vector<OpId> candidates = CandidatesOf(line);
  if (line.names.empty()) return candidates;
  std::vector<OpId> ops;
  for (const std::string& name : line.names) {
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&name](OpId op) { return TraitsOf(op).name == name; });
    if (found == candidates.end()) {
      absl::FPrintF(stderr, "prove: no such operator: %s; there are:\n%s\n", name,
                    absl::StrJoin(candidates, "\n", [](std::string* out, OpId op) {
                      absl::StrAppend(out, TraitsOf(op).name);
                    }));
      return {};
    }
    ops.push_back(*found);
  }
  return ops;
}

int ProveAdapter(const CommandLine& line, const std::vector<OpId>& ops) {
  const absl::StatusOr<ProvenAdapter> adapter = FindAdapter(line.adapter);
  if (adapter.ok()) return ProveOnAdapter(*adapter, ops, line.options) ? kProven : kWrong;
  absl::FPrintF(stderr, "prove: %s\n", adapter.status().message());
  if (absl::IsNotFound(adapter.status())) return kNoHardware;
  return absl::IsOutOfRange(adapter.status()) ? kBadUsage : kWrong;
}

int ProveFunctions(const CommandLine& line, const std::vector<OpId>& ops) {
  const std::vector<int64_t> targets = line.of_text ? std::vector<int64_t>() : TargetClasses();
  absl::PrintF("targets: %s%s\n", line.of_text ? "GPU" : "",
               absl::StrJoin(targets, ", ", [](std::string* out, int64_t target) {
                 out->append(TargetName(target));
               }));
  bool good = true;
  for (const OpId op : ops) good = Prove(op, targets, line.options.stride) && good;
  return good ? kProven : kWrong;
}

int Main(int argc, char** argv) {
  CommandLine line;
  CLI::App app(kHelp);
  AddOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kProven : kBadUsage;
  }
  const std::vector<OpId> ops = OperatorsOf(line);
  if (ops.empty()) return kBadUsage;
  return line.of_adapter() ? ProveAdapter(line, ops) : ProveFunctions(line, ops);
}

}  // namespace
}  // namespace opserve::testing

int main(int argc, char** argv) { return opserve::testing::Main(argc, argv); }
