// Finds the inputs at which elementary functions are hardest to round, and writes them as
// client/inputs/hard_inputs.def; see `make hardest`.
//
// Of FLOAT16 all numbers are looked at. Of FLOAT32 one in so many, and besides all numbers of few
// digits with their neighbours, where traps are that no sample finds: SIGMOID of 3 * 2^-23, GELU of
// the least denormals. Long doubles choose candidates, MPFR says how near each of them is. What is
// written depends on the options alone. Where operators are named, the others stay as the file has
// them. --check finds those of FLOAT16 again.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/inputs/hard_inputs.h"
#include "kernels/reference_ops.h"
#include "proto/base/mutex.h"
#include "server/pool/verify/float_format.h"
#include "tests/conformance/exact_values.h"
#include "tests/prove/approximation.h"

namespace opserve::testing {
namespace {

// How many of the hardest are written.
constexpr size_t kWritten = 48;
// How many of them one exponent and sign may give.
constexpr size_t kPerExponent = 2;
// How many of these MPFR compares.
constexpr size_t kCandidates = 2 * kPerExponent;
// What is farther from a middle is not hard. Half of the numbers of FLOAT16 have fewer neighbours
// of their magnitude than it takes to find a nearer one.
constexpr double NotHard(DataType type) { return type == DataType::kFloat32 ? 0x1p-12 : 0x1p-6; }

// An operator with the attributes that its inputs are sought for.
struct Subject {
  OpId op;
  std::array<float, 2> attributes = {};
};

// Of all FLOAT32 the file has looked at one in so many.
constexpr uint64_t kAll = uint64_t{1} << 32;
constexpr uint64_t kStride = 31;

// The attributes that DirectML's documentation gives as usual, or 1; and the exponent of sRGB.
constexpr Subject kWithAttributes[] = {
    {OpId::ACTIVATION_CELU, {1}},
    {OpId::ACTIVATION_ELU, {1}},
    {OpId::ACTIVATION_PARAMETRIC_SOFTPLUS, {1, 1}},
    {OpId::ACTIVATION_SCALED_ELU, {1.67326319217681884765625f, 1.05070102214813232421875f}},
    {OpId::ACTIVATION_SCALED_TANH, {1, 0.5f}},
    {OpId::ACTIVATION_SOFTPLUS, {1}},
    {OpId::ACTIVATION_SWISH, {1}},
    {OpId::ELEMENT_WISE_CONSTANT_POW, {2.4f}},
};

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects(std::begin(kWithAttributes), std::end(kWithAttributes));
  for (const OpId op : TranscendentalOperators()) {
    const OpTraits& traits = TraitsOf(op);
    if (traits.input_count() == 1 && traits.attributes.empty()) subjects.push_back({op});
  }
  std::sort(subjects.begin(), subjects.end(), [](const Subject& a, const Subject& b) {
    return TraitsOf(a.op).name < TraitsOf(b.op).name;
  });
  return subjects;
}

float ValueOf(DataType type, uint32_t bits) {
  if (type == DataType::kFloat32) return std::bit_cast<float>(bits);
  return reference::ToFloat({static_cast<uint16_t>(bits)});
}

// How near a long double is to a middle; see DistanceToMiddle().
double RoughDistance(long double value, const FloatFormat& format) {
  if (!std::isfinite(value) || value == 0) return 0.5;
  int exponent;
  std::frexp(value, &exponent);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  if (exponent > bias + 1) return 0.5;
  const int digit = std::max(exponent - format.mantissa_bits - 1, 1 - bias - format.mantissa_bits);
  const long double scaled = std::ldexp(std::fabs(value), -digit);
  return static_cast<double>(std::fabs(scaled - std::floor(scaled) - 0.5L));
}

struct Candidate {
  double distance;
  uint32_t bits;
  bool operator<(const Candidate& other) const {
    return std::tie(distance, bits) < std::tie(other.distance, other.bits);
  }
};

// The nearest of each exponent and sign; of numbers as near those whose bits are less.
class Nearest {
 public:
  explicit Nearest(const FloatFormat& format)
      : mantissa_bits_(format.mantissa_bits), of_exponent_(size_t{2} << format.exponent_bits) {}

  void Add(const Candidate& candidate) {
    auto& nearest = of_exponent_[candidate.bits >> mantissa_bits_];
    if (nearest.size() == kCandidates && !(candidate < *nearest.rbegin())) return;
    nearest.insert(candidate);
    if (nearest.size() > kCandidates) nearest.erase(std::prev(nearest.end()));
  }

  const std::vector<std::set<Candidate>>& of_exponent() const { return of_exponent_; }

 private:
  const int mantissa_bits_;
  std::vector<std::set<Candidate>> of_exponent_;
};

// The search for one operator in one type.
class Search {
 public:
  Search(const Subject& subject, DataType type, uint64_t stride)
      : subject_(subject),
        type_(type),
        format_(FormatOf(type)),
        count_(format_.sign() * 2),
        stride_(type == DataType::kFloat32 ? stride : 1),
        nearest_(format_) {}

  // Ready before the others are asked.
  void Run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) thread.join();
    Nearest more(format_);
    for (const uint32_t bits : FewDigits()) Look(bits, more);
    Merge(more);
  }

  std::vector<uint32_t> Hardest() {
    const MutexLock lock(merging_);
    std::vector<Candidate> all;
    for (const auto& candidates : nearest_.of_exponent()) {
      const std::vector<Candidate> exact = NearestExactly(candidates);
      all.insert(all.end(), exact.begin(), exact.end());
    }
    std::sort(all.begin(), all.end());
    std::vector<uint32_t> hardest;
    std::set<uint64_t> magnitudes;
    for (const Candidate& candidate : all) {
      if (hardest.size() == kWritten) break;
      if (!magnitudes.insert(candidate.bits & (format_.sign() - 1)).second) continue;
      hardest.push_back(candidate.bits);
    }
    return hardest;
  }

  // Between steps of a coarse walk along all numbers, where the results at the ends differ in kind.
  std::vector<uint32_t> Edges() const {
    const uint64_t step = uint64_t{1} << std::max(0, format_.mantissa_bits - 7);
    std::vector<uint32_t> edges;
    for (const uint64_t first : {uint64_t{0}, format_.sign()}) {
      const uint64_t last = first + format_.infinity();
      for (uint64_t at = first; at < last; at += step) AddEdge(at, at + step, edges);
    }
    return edges;
  }

  uint64_t sampled() const { return count_ / stride_; }

 private:
  void Look(uint64_t bits, Nearest& nearest) const {
    const auto x = static_cast<uint32_t>(bits);
    const double distance =
        RoughDistance(Approximation(subject_.op, ValueOf(type_, x), subject_.attributes), format_);
    if (distance < NotHard(type_)) nearest.Add({distance, x});
  }

  void Work() {
    constexpr uint64_t kBlock = 1 << 14;
    Nearest nearest(format_);
    const uint64_t steps = sampled();
    for (uint64_t first; (first = next_.fetch_add(kBlock)) < steps;) {
      for (uint64_t i = first; i < std::min(first + kBlock, steps); ++i) {
        Look(i * stride_, nearest);
      }
    }
    Merge(nearest);
  }

  void Merge(const Nearest& nearest) {
    const MutexLock lock(merging_);
    for (const auto& candidates : nearest.of_exponent()) {
      for (const Candidate& candidate : candidates) nearest_.Add(candidate);
    }
  }

  // The least numbers, and those with at most 6 digits behind the first with their neighbours.
  std::vector<uint32_t> FewDigits() const {
    std::vector<uint32_t> all;
    const auto sign = static_cast<uint32_t>(format_.sign());
    for (uint32_t bits = 0; bits < 64; ++bits) {
      all.push_back(bits);
      all.push_back(bits | sign);
    }
    const uint64_t step = uint64_t{1} << (format_.mantissa_bits - 6);
    for (uint64_t bits = step; bits < count_; bits += step) {
      for (const uint64_t neighbour : {bits - 1, bits, bits + 1}) {
        all.push_back(static_cast<uint32_t>(neighbour));
      }
    }
    return all;
  }

  ExactArguments ArgumentsOf(uint32_t bits) const {
    return {{ValueOf(type_, bits), 0}, subject_.attributes};
  }

  // By MPFR. A number that was found twice is in it once.
  std::vector<Candidate> NearestExactly(const std::set<Candidate>& candidates) const {
    std::set<Candidate> exact;
    for (const Candidate& candidate : candidates) {
      const auto distance = DistanceToMiddle(subject_.op, ArgumentsOf(candidate.bits), type_);
      if (distance && *distance < NotHard(type_)) exact.insert({*distance, candidate.bits});
    }
    std::vector<Candidate> nearest(exact.begin(), exact.end());
    nearest.resize(std::min(nearest.size(), kPerExponent));
    return nearest;
  }

  // Whether the rounded result is zero, denormal, normal, infinite or NaN.
  int KindOf(uint64_t bits) const {
    const double exact = ExactResult(subject_.op, ArgumentsOf(static_cast<uint32_t>(bits)));
    if (type_ == DataType::kFloat32) return std::fpclassify(static_cast<float>(exact));
    const uint64_t magnitude = reference::ToHalf(exact).bits & (format_.sign() - 1);
    if (magnitude > format_.infinity()) return FP_NAN;
    if (magnitude == format_.infinity()) return FP_INFINITE;
    if (magnitude == 0) return FP_ZERO;
    return magnitude >> format_.mantissa_bits == 0 ? FP_SUBNORMAL : FP_NORMAL;
  }

  // Adds the neighbours from `low` to `high` between which the kind changes, where it does.
  void AddEdge(uint64_t low, uint64_t high, std::vector<uint32_t>& edges) const {
    const int kind = KindOf(low);
    if (KindOf(high) == kind) return;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (KindOf(middle) == kind ? low : high) = middle;
    }
    edges.push_back(static_cast<uint32_t>(low));
    edges.push_back(static_cast<uint32_t>(high));
  }

  const Subject subject_;
  const DataType type_;
  const FloatFormat format_;
  const uint64_t count_;
  const uint64_t stride_;
  std::atomic<uint64_t> next_ = 0;
  Mutex merging_;
  Nearest nearest_ ABSL_GUARDED_BY(merging_);
};

constexpr char kHeader[] =
    R"(// The inputs at which operators of one input are hardest to round: written by `make hardest`, do
// not edit. See client/inputs/hard_inputs.h.
//
//   OPSERVE_HARD_INPUTS(OPERATOR, TYPE, (ATTRIBUTES), (HARDEST), (EDGES))
//
// Of FLOAT16 all numbers were looked at. Of FLOAT32 those whose bits are a multiple of %d: %d
// of 2^32; and those with at most 6 binary digits behind the first, with their neighbours. Of each
// exponent and sign the %d nearest to a middle between two neighbours, by long double and MPFR; of
// these the %d nearest, where less than 2^-12 (FLOAT16: 2^-6) of the distance of the neighbours
// lies between, the nearest first.
)";

std::string HexLines(const std::vector<uint32_t>& values, DataType type) {
  constexpr size_t kPerLine = 7;
  std::string lines;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) lines += i % kPerLine == 0 ? ",\n     " : ", ";
    lines += type == DataType::kFloat32 ? absl::StrFormat("0x%08x", values[i])
                                        : absl::StrFormat("0x%04x", values[i]);
  }
  return lines;
}

std::string AttributesText(const Subject& subject) {
  std::vector<std::string> members;
  const OpTraits& traits = TraitsOf(subject.op);
  for (size_t a = 0; a < traits.attributes.size(); ++a) {
    members.push_back(
        absl::StrFormat("{\"%s\", %af}", traits.attributes[a].name, subject.attributes[a]));
  }
  return absl::StrJoin(members, ", ");
}

void Write(const Subject& subject, DataType type, const std::vector<uint32_t>& hardest,
           const std::vector<uint32_t>& edges) {
  absl::PrintF("\nOPSERVE_HARD_INPUTS(%s, k%s, (%s),\n    (%s),\n    (%s))\n",
               TraitsOf(subject.op).name, type == DataType::kFloat32 ? "Float32" : "Float16",
               AttributesText(subject), HexLines(hardest, type), HexLines(edges, type));
  std::fflush(stdout);
}

void WriteFound(const Subject& subject, DataType type, uint64_t stride) {
  Search search(subject, type, stride);
  search.Run();
  const std::vector<uint32_t> hardest = search.Hardest();
  Write(subject, type, hardest, search.Edges());
  absl::FPrintF(stderr, "%s %s: %d inputs, %d hard\n", TraitsOf(subject.op).name, NameOf(type),
                search.sampled(), hardest.size());
}

// Of operators that are not named, where any are, what the file has; of new ones what is found.
void WriteAll(const std::set<std::string>& named, uint64_t stride) {
  absl::PrintF(kHeader, stride, kAll / stride, kPerExponent, kWritten);
  for (const Subject& subject : Subjects()) {
    const absl::string_view name = TraitsOf(subject.op).name;
    const bool is_sought = named.empty() || named.contains(std::string(name));
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
      const HardInputs* const kept = is_sought ? nullptr : FindHardInputs(name, type);
      if (kept == nullptr) {
        WriteFound(subject, type, stride);
      } else {
        Write(subject, type, kept->hardest, kept->edges);
      }
    }
  }
}

// Whether the file has what the search finds again.
bool IsFresh(const Subject& subject) {
  const absl::string_view name = TraitsOf(subject.op).name;
  const HardInputs* const found = FindHardInputs(name, DataType::kFloat16);
  Search search(subject, DataType::kFloat16, 1);
  search.Run();
  const bool is_fresh =
      found != nullptr && found->hardest == search.Hardest() && found->edges == search.Edges();
  if (!is_fresh) absl::PrintF("%s: not what is found; run `make hardest`\n", name);
  return is_fresh;
}

int Check() {
  bool is_fresh = true;
  for (const Subject& subject : Subjects()) is_fresh = IsFresh(subject) && is_fresh;
  return is_fresh ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Finds the inputs at which elementary functions are hardest to round.");
  bool check = false;
  uint64_t stride = kStride;
  std::vector<std::string> named;
  std::vector<std::string> names;
  for (const Subject& subject : Subjects()) names.emplace_back(TraitsOf(subject.op).name);
  app.add_flag("--check", check, "Compares those of FLOAT16 with the file, and writes nothing");
  CLI::Option* const operators =
      app.add_option("OPERATOR", named, "Seeks those of these operators, and keeps the others")
          ->check(CLI::IsMember(names));
  app.add_option("--stride", stride, "Takes one FLOAT32 of so many, of all operators")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20))
      ->excludes(operators);
  CLI11_PARSE(app, argc, argv);
  if (check) return Check();
  WriteAll({named.begin(), named.end()}, stride);
  return 0;
}

}  // namespace
}  // namespace opserve::testing

int main(int argc, char** argv) { return opserve::testing::Main(argc, argv); }
