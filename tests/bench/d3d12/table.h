// File: tests/bench/d3d12/table.h
//
// Rows as lines of text, all sections in the same columns. Pure.

#ifndef OPSERVE_TESTS_BENCH_D3D12_TABLE_H_
#define OPSERVE_TESTS_BENCH_D3D12_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/bench/d3d12/row.h"

namespace opserve::bench {

inline constexpr size_t kLineWidth = 80;
// What the columns hold without making a line longer than that.
inline constexpr size_t kMaxRowName = 26;
inline constexpr size_t kMaxCeilingName = 11;

// "4 KiB", "8 MiB", "" for 0; bytes where neither fits.
std::string SizeText(uint64_t bytes);

// Four digits that count, or all before the point: "0.01234", "12.34", "123456".
std::string NumberText(double value);

// A heading, and a line per row, each with its end.
std::string TableText(const std::vector<Row>& rows);

// The rows with goals, each with whether it is met; "" where none has one.
std::string GoalsText(const std::vector<SectionResult>& sections);

// `text` in lines of at most kLineWidth characters, each with its end, broken between words.
std::string WrappedText(absl::string_view text);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_TABLE_H_
