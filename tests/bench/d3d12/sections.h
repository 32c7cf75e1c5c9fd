// File: tests/bench/d3d12/sections.h
//
// The sections of bench_d3d12, a file each: what is measured on a device.

#ifndef OPSERVE_TESTS_BENCH_D3D12_SECTIONS_H_
#define OPSERVE_TESTS_BENCH_D3D12_SECTIONS_H_

#include <span>

#include "absl/status/status.h"
#include "tests/bench/d3d12/bench_context.h"
#include "tests/bench/d3d12/row.h"

namespace opserve::bench {

// Each adds its rows and notes to `result`, and fails where it cannot go on.
absl::Status MeasureSubmissions(BenchContext& context, SectionResult& result);
absl::Status MeasureStages(BenchContext& context, SectionResult& result);
absl::Status MeasureTransfers(BenchContext& context, SectionResult& result);
absl::Status MeasureKernels(BenchContext& context, SectionResult& result);
absl::Status MeasureBatches(BenchContext& context, SectionResult& result);
absl::Status MeasureInFlight(BenchContext& context, SectionResult& result);
absl::Status MeasureCalls(BenchContext& context, SectionResult& result);
absl::Status MeasureKeptInputs(BenchContext& context, SectionResult& result);
absl::Status MeasureChains(BenchContext& context, SectionResult& result);
absl::Status MeasureUnreadResults(BenchContext& context, SectionResult& result);
absl::Status MeasureColdStart(BenchContext& context, SectionResult& result);
absl::Status MeasurePipelines(BenchContext& context, SectionResult& result);
absl::Status MeasurePlacedTensors(BenchContext& context, SectionResult& result);
absl::Status MeasureOversubscription(BenchContext& context, SectionResult& result);
absl::Status MeasurePlacement(BenchContext& context, SectionResult& result);
absl::Status MeasureLongestDispatch(BenchContext& context, SectionResult& result);
// The last one: releases the context's run time.
absl::Status MeasureLoss(BenchContext& context, SectionResult& result);

struct BenchSection {
  // As --section takes it.
  const char* name;
  const char* title;
  absl::Status (*measure)(BenchContext& context, SectionResult& result);
};

// In the order in which they run.
std::span<const BenchSection> AllSections();

// Runs a section.
SectionResult RunSection(const BenchSection& section, BenchContext& context);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_SECTIONS_H_
