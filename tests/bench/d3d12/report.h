// File: tests/bench/d3d12/report.h
//
// The report that is sent back: Markdown whose tables are text of 80 columns, so that it is read as
// it is; and the same as JSON. Pure.

#ifndef OPSERVE_TESTS_BENCH_D3D12_REPORT_H_
#define OPSERVE_TESTS_BENCH_D3D12_REPORT_H_

#include <string>
#include <vector>

#include "tests/bench/d3d12/machine_facts.h"
#include "tests/bench/d3d12/row.h"

namespace opserve::bench {

// What was measured how, but for the numbers.
struct ReportHead {
  Facts facts = {};
  bool is_software = false;
  bool is_quick = false;
};

// The part before the sections.
std::string HeadText(const ReportHead& head);
// A section: its title, its rows, or why there are none.
std::string SectionText(const SectionResult& section);
// The part after them: the goals that hold for hardware, and what failed.
std::string EndText(const ReportHead& head, const std::vector<SectionResult>& sections);

// All of it for programs, with its end of line.
std::string JsonText(const ReportHead& head, const std::vector<SectionResult>& sections);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_REPORT_H_
