// Measures the CPU kernels against libc memcpy moving the same bytes, in the same run, or counts
// their instructions.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/cpu/cpu_executor.h"
#include "tests/bench/instruction_count.h"
#include "tests/bench/kernel_call.h"
#include "tests/bench/measure.h"
#include "tests/conformance/targets.h"

namespace opserve::bench {
namespace {

struct Options {
  std::string filter;
  std::string json_path;
  // An instruction set of the host; empty: the best.
  std::string target;
  bool instructions = false;
  bool quick = false;
  bool smoke = false;
  int repeats = 31;
};

// A row of the table to be.
struct Case {
  OpId op;
  DataType type;
  int mode = 0;
  Values values = Values::kUsual;
  // Whether it is measured only where memory decides: at the largest size, with one thread.
  bool is_brief = false;
};

// Whether the table of kernels has the operator in many types, sizes and threads.
bool IsShownInFull(OpId op) {
  return op == OpId::ELEMENT_WISE_IF || op == OpId::ELEMENT_WISE_IS_INFINITY ||
         op == OpId::ELEMENT_WISE_ROUND || op == OpId::ELEMENT_WISE_MODULUS_TRUNCATE;
}

struct Result {
  std::string op;
  std::string type;
  std::string size;
  int threads = 1;
  double kernel_gb_per_s = 0;
  double peer_gb_per_s = 0;
  double ratio = 0;
  double goal = 0;  // 0: none
  std::string peer = "memcpy";

  const char* verdict() const { return goal == 0 ? "" : ratio >= goal ? "ok" : "below"; }
};

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

// From this size on a call is spread over the threads; below, each thread makes its own calls.
constexpr size_t kSplitFrom = 64 * kMiB;

std::vector<Case> AllCases() {
  using enum DataType;
  std::vector<Case> cases;
  for (DataType type : {kFloat32, kFloat16, kUint8, kInt64}) {
    cases.push_back({OpId::ELEMENT_WISE_IF, type});
  }
  for (DataType type : {kFloat32, kFloat16}) {
    cases.push_back({OpId::ELEMENT_WISE_IS_INFINITY, type});
    for (int mode : {0, 1, 2}) cases.push_back({OpId::ELEMENT_WISE_ROUND, type, mode});
  }
  for (DataType type :
       {kFloat32, kFloat16, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64}) {
    cases.push_back({OpId::ELEMENT_WISE_MODULUS_TRUNCATE, type});
  }
  for (const OpTraits& op : OpTable()) {
    for (DataType type : {kFloat32, kFloat16, kInt8, kUint8, kInt32}) {
      const bool is_shown = !IsShownInFull(op.id) && op.lane_types().contains(type);
      if (is_shown) cases.push_back({.op = op.id, .type = type, .is_brief = true});
    }
  }
  return cases;
}

// Of what is measured where memory decides. Functions whose results are no fractions need more than
// one pass of arithmetic, and rows more than one of memory.
double GoalWhereMemoryDecides(const Case& each) {
  const bool is_float32 = each.type == DataType::kFloat32;
  if (each.op == OpId::ELEMENT_WISE_EXP) return is_float32 ? 0.7 : 0;
  switch (each.op) {
    case OpId::ACTIVATION_GELU:
    case OpId::ACTIVATION_SIGMOID:
    case OpId::ACTIVATION_SOFTPLUS:
    case OpId::ACTIVATION_TANH:
      return is_float32 ? 0.5 : 0;
    default:
      break;
  }
  switch (TraitsOf(each.op).family) {
    case OpFamily::kElementary:
      return is_float32 ? 0.5 : 0;
    case OpFamily::kSoftmax:
      return 0;
    default:
      return 1.0;
  }
}

// The least ratio to memcpy that a kernel should reach; 0 where there is no such goal.
double GoalOf(const Case& each, size_t bytes) {
  if (each.is_brief) return bytes >= 256 * kMiB ? GoalWhereMemoryDecides(each) : 0;
  if (each.op == OpId::ELEMENT_WISE_MODULUS_TRUNCATE) {
    const bool is_wide = each.type != DataType::kFloat32 && SizeOf(each.type) >= 4;
    return !is_wide && bytes >= 256 * kMiB ? 0.8 : 0;
  }
  if (each.type != DataType::kFloat32 && each.type != DataType::kFloat16) return 0;
  return bytes >= 256 * kMiB ? 1.0 : 0.9;
}

std::string NameOfCase(const Case& each) {
  const OpTraits& op = TraitsOf(each.op);
  if (!op.has_mode()) return std::string(op.name);
  return absl::StrCat(op.name, " ", op.attributes[0].values[each.mode].name);
}

std::string NameOfSize(size_t bytes) {
  return bytes >= kMiB ? absl::StrCat(bytes / kMiB, " MiB") : absl::StrCat(bytes / kKiB, " KiB");
}

// Source and target of a memcpy that moves as many bytes as a kernel reads and writes.
struct Copy {
  explicit Copy(size_t total_bytes) : source(total_bytes / 2), target(total_bytes / 2) {}

  // Copies part `index` of `parts`.
  void Run(int index, int parts) {
    const size_t bytes = source.size() / static_cast<size_t>(parts);
    const size_t begin = bytes * static_cast<size_t>(index);
    std::memcpy(target.data() + begin, source.data() + begin, bytes);
  }

  Buffer source;
  Buffer target;
};

// `bytes`: size of the widest input.
Result Measure(const Case& each, size_t bytes, int threads, const Effort& effort) {
  const auto count = static_cast<uint32_t>(bytes / SizeOf(each.type));
  const auto call = MakePackedCall(each.op, each.type, each.mode, count);
  const bool is_split = threads > 1 && bytes >= kSplitFrom;
  const int callers = is_split ? 1 : threads;
  const CpuExecutor executor(is_split ? threads : 1);
  std::vector<CallBuffers> buffers;
  std::vector<Copy> copies;
  for (int i = 0; i < callers; ++i) {
    buffers.emplace_back(*call, each.values);
    copies.emplace_back(buffers[0].total_bytes);
  }

  const std::vector<double> seconds =
      MedianSeconds({{[&](int index) {
                        CallBuffers& mine = buffers[static_cast<size_t>(index)];
                        executor.Run(*call, mine.input_pointers, mine.output.data());
                      },
                      callers},
                     {[&](int index) {
                        if (is_split) return copies[0].Run(index, threads);
                        copies[static_cast<size_t>(index)].Run(0, 1);
                      },
                      threads}},
                    effort);

  const double gigabytes =
      static_cast<double>(buffers[0].total_bytes) * 1e-9 * static_cast<double>(callers);
  return {.op = NameOfCase(each),
          .type = std::string(NameOf(each.type)),
          .size = NameOfSize(bytes),
          .threads = threads,
          .kernel_gb_per_s = gigabytes / seconds[0],
          .peer_gb_per_s = gigabytes / seconds[1],
          .ratio = seconds[1] / seconds[0],
          .goal = GoalOf(each, bytes)};
}

// FLOAT32 remainders against the C library's.
Result MeasureFmod(Values values, const Effort& effort) {
  constexpr uint32_t kCount = 1 << 16;
  const auto call =
      MakePackedCall(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kFloat32, 0, kCount);
  CallBuffers buffers(*call, values);
  Buffer libm_output(call->output_bytes);
  const CpuExecutor executor(1);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0].data());
  const auto* y = reinterpret_cast<const float*>(buffers.inputs[1].data());
  auto* r = reinterpret_cast<float*>(libm_output.data());
  const std::vector<double> seconds = MedianSeconds(
      {{[&](int) { executor.Run(*call, buffers.input_pointers, buffers.output.data()); }},
       {[&](int) {
         for (uint32_t i = 0; i < kCount; ++i) r[i] = std::fmod(x[i], y[i]);
       }}},
      effort);
  const double gigabytes = static_cast<double>(buffers.total_bytes) * 1e-9;
  return {.op = values == Values::kUsual ? "MODULUS_TRUNCATE, usual" : "MODULUS_TRUNCATE, any bits",
          .type = "FLOAT32",
          .size = NameOfSize(kCount * sizeof(float)),
          .kernel_gb_per_s = gigabytes / seconds[0],
          .peer_gb_per_s = gigabytes / seconds[1],
          .ratio = seconds[1] / seconds[0],
          .goal = values == Values::kAnyBits ? 20.0 : 0.0,
          .peer = "libm fmodf"};
}

void PrintRow(const Result& row) {
  absl::PrintF("%-47s %-8s %8s %8d %8.1f %8.1f %7.2f  %-10s %s\n", row.op, row.type, row.size,
               row.threads, row.kernel_gb_per_s, row.peer_gb_per_s, row.ratio,
               row.goal == 0 ? "" : absl::StrFormat(">= %.1f", row.goal), row.verdict());
  std::fflush(stdout);
}

bool WriteJson(const std::string& path, const std::vector<Result>& rows) {
  std::ofstream file(path);
  file << "{\"target\": \"" << CpuTargetName() << "\", \"rows\": [";
  const char* separator = "\n";
  for (const Result& row : rows) {
    file << separator
         << absl::StrFormat(
                "  {\"op\": \"%s\", \"type\": \"%s\", \"size\": \"%s\", \"threads\": %d, "
                "\"kernel_gb_per_s\": %.3f, \"peer\": \"%s\", \"peer_gb_per_s\": %.3f, "
                "\"ratio\": %.3f, \"goal\": %.1f}",
                row.op, row.type, row.size, row.threads, row.kernel_gb_per_s, row.peer,
                row.peer_gb_per_s, row.ratio, row.goal);
    separator = ",\n";
  }
  file << "\n]}\n";
  return file.good();
}

// Whether the row of a case is asked for.
bool IsAskedFor(const Case& each, const std::string& filter) {
  return absl::StrContains(absl::StrCat(NameOfCase(each), " ", NameOf(each.type)), filter);
}

// Instructions that make 64 bytes of results: what twice as long a call takes more.
absl::StatusOr<double> InstructionsPer64Bytes(const Case& each) {
  constexpr uint32_t kCount = 512;
  const CpuExecutor executor(1);
  uint64_t counts[2];
  size_t bytes[2];
  for (uint32_t i : {0, 1}) {
    const auto call = MakePackedCall(each.op, each.type, each.mode, kCount * (i + 1));
    CallBuffers buffers(*call, each.values);
    const auto run = [&] { executor.Run(*call, buffers.input_pointers, buffers.output.data()); };
    run();  // what the first call of all does once
    const absl::StatusOr<uint64_t> count = CountInstructions(run);
    if (!count.ok()) return count.status();
    counts[i] = *count;
    bytes[i] = buffers.output.size();
  }
  return 64.0 * static_cast<double>(counts[1] - counts[0]) /
         static_cast<double>(bytes[1] - bytes[0]);
}

int PrintInstructions(const Options& options) {
  absl::PrintF(
      "Instructions per 64 bytes of results, loads, stores and the loop included, on every\n"
      "instruction set that this host runs.\n\n%-47s %-8s",
      "operator", "type");
  for (int64_t target : testing::RunnableTargets()) {
    absl::PrintF(" %8s", testing::TargetName(target));
  }
  absl::PrintF("\n");
  for (const Case& each : AllCases()) {
    if (!IsAskedFor(each, options.filter)) continue;
    absl::PrintF("%-47s %-8s", NameOfCase(each), NameOf(each.type));
    for (int64_t target : testing::RunnableTargets()) {
      const testing::ScopedTarget scoped(target);
      const absl::StatusOr<double> instructions = InstructionsPer64Bytes(each);
      if (!instructions.ok()) {
        absl::FPrintF(stderr, "\n%s\n", instructions.status().ToString());
        return 1;
      }
      absl::PrintF(" %8.1f", *instructions);
    }
    absl::PrintF("\n");
    std::fflush(stdout);
  }
  return 0;
}

int Run(const Options& options) {
  std::optional<testing::ScopedTarget> scoped;
  for (int64_t target : testing::RunnableTargets()) {
    if (testing::TargetName(target) == options.target) scoped.emplace(target);
  }
  if (options.instructions) return PrintInstructions(options);
  const Effort effort = options.smoke ? Effort{.repeats = 1, .batch_seconds = 0}
                                      : Effort{.repeats = options.quick ? 11 : options.repeats};
  std::vector<size_t> sizes = {64 * kKiB, 4 * kMiB, 256 * kMiB};
  if (options.quick) sizes = {64 * kKiB, 64 * kMiB};
  if (options.smoke) sizes = {64 * kKiB, 4 * kMiB};

  absl::PrintF(
      "CPU kernels on %s, against libc memcpy moving the same bytes in the same run.\n"
      "GB/s count bytes read and written; size is that of the widest input. With two threads, one\n"
      "call is split from 64 MiB on, and each thread makes its own calls below.\n\n"
      "%-47s %-8s %8s %8s %8s %8s %7s  %s\n",
      CpuTargetName(), "operator", "type", "size", "threads", "GB/s", "peer", "ratio", "goal");

  std::vector<Result> rows;
  const auto add = [&](const Result& row) {
    rows.push_back(row);
    PrintRow(row);
  };
  for (const Case& each : AllCases()) {
    if (!IsAskedFor(each, options.filter)) continue;
    if (each.is_brief) {
      add(Measure(each, sizes.back(), 1, effort));
      continue;
    }
    for (size_t bytes : sizes) {
      for (int threads : {1, 2}) add(Measure(each, bytes, threads, effort));
    }
  }
  if (absl::StrContains("FMOD MODULUS_TRUNCATE FLOAT32 libm", options.filter)) {
    absl::PrintF("\nagainst libm fmodf:\n");
    for (Values values : {Values::kUsual, Values::kAnyBits}) add(MeasureFmod(values, effort));
  }
  if (!options.json_path.empty() && !WriteJson(options.json_path, rows)) {
    absl::FPrintF(stderr, "cannot write %s\n", options.json_path);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace opserve::bench

int main(int argc, char** argv) {
  opserve::bench::Options options;
  CLI::App app(
      "Measures the CPU kernels against libc memcpy and libm. Goals are marked, never enforced.");
  app.add_option("--filter", options.filter,
                 "Only rows whose \"OPERATOR [MODE] TYPE\" contains this");
  app.add_option("--json", options.json_path, "Also write the rows to this file");
  app.add_option("--repeats", options.repeats, "Interleaved batches per row; medians are compared")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "Fewer sizes and batches: about a minute in all");
  app.add_flag("--smoke", options.smoke, "Every row once, small: checks that the program works");
  std::vector<std::string> targets;
  for (int64_t target : opserve::testing::RunnableTargets()) {
    targets.push_back(opserve::testing::TargetName(target));
  }
  app.add_option("--target", options.target, "Use this instruction set instead of the best one")
      ->check(CLI::IsMember(targets));
  app.add_flag("--instructions", options.instructions,
               "Count the instructions of each row on every instruction set instead")
      ->excludes("--target");
  CLI11_PARSE(app, argc, argv);
  return opserve::bench::Run(options);
}
