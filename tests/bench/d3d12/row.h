// File: tests/bench/d3d12/row.h
//
// What a section of bench_d3d12 tells: numbers, each with what it is held against, from the same
// run. Plain values.

#ifndef OPSERVE_TESTS_BENCH_D3D12_ROW_H_
#define OPSERVE_TESTS_BENCH_D3D12_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace opserve::bench {

// What the ratio of a row is aimed to be, on hardware. Never enforced.
struct Goal {
  enum class Kind { kNone, kAtLeast, kAtMost };

  Kind kind = Kind::kNone;
  double ratio = 0;
};

struct Row {
  std::string name = {};
  // Of what the row is about; 0 where that has no size.
  uint64_t bytes = 0;
  // Of both numbers: "GB/s", "us", "ms", "k/s", "1/s", "MiB", "" for a count.
  std::string unit = {};
  double value = 0;
  // What can be hoped for at best, or else what does the same in the usual way; and its name, of at
  // most kMaxCeilingName characters.
  double ceiling = 0;
  std::string against = {};
  Goal goal = {};

  // How much of the ceiling is reached; 0 where there is none.
  double ratio() const { return ceiling == 0 ? 0 : value / ceiling; }
  bool IsMet() const {
    return goal.kind == Goal::Kind::kAtMost ? ratio() <= goal.ratio : ratio() >= goal.ratio;
  }
};

// What became of one section.
struct SectionResult {
  std::string name = {};
  // In one line, what is measured.
  std::string title = {};
  // OK, or why rows are missing.
  absl::Status status = {};
  std::vector<Row> rows = {};
  // What a reader has to know of these numbers, in sentences.
  std::vector<std::string> notes = {};
  // How long it took.
  double seconds = 0;
};

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_ROW_H_
