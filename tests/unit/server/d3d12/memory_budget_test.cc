// MemoryBudgetOf: what one device may take of its adapter's memory.

#include "server/d3d12/memory_budget.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace opserve::d3d12 {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(MemoryBudgetTest, IsAShareOfWhatTheDriverAllows) {
  const MemoryFacts facts = {.adapter_bytes = 8 * kGiB, .report = MemoryReport{4 * kGiB, 0}};
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 3 * kGiB);
}

TEST(MemoryBudgetTest, IsASmallerShareOfTheMachinesMemory) {
  // What an adapter is given of it at the start is no bound.
  const MemoryFacts facts = {
      .adapter_bytes = kGiB / 8, .is_shared = true, .report = MemoryReport{8 * kGiB, 0}};
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 2 * kGiB);
}

TEST(MemoryBudgetTest, IsCapped) {
  const MemoryFacts facts = {.adapter_bytes = 8 * kGiB, .report = MemoryReport{4 * kGiB, 0}};
  EXPECT_EQ(MemoryBudgetOf(facts, kGiB), kGiB);
  EXPECT_EQ(MemoryBudgetOf({}, 1000), 1000u);
}

TEST(MemoryBudgetTest, WhatOtherDevicesTookIsGone) {
  MemoryFacts facts = {.adapter_bytes = 8 * kGiB, .report = MemoryReport{8 * kGiB, 5 * kGiB}};
  facts.own_bytes = kGiB;
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 3 * kGiB);
  // The driver's number may be older than ours.
  facts.own_bytes = 6 * kGiB;
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 6 * kGiB);
  facts.report = MemoryReport{2 * kGiB, 7 * kGiB};
  facts.own_bytes = 0;
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 0u);
}

TEST(MemoryBudgetTest, WithoutAReportTheAdaptersMemoryCounts) {
  EXPECT_EQ(MemoryBudgetOf({.adapter_bytes = 8 * kGiB}, UINT64_MAX), 6 * kGiB);
  EXPECT_EQ(MemoryBudgetOf({}, UINT64_MAX), kUnknownMemoryBudget);
}

TEST(MemoryBudgetTest, LiesAreNotBelieved) {
  MemoryFacts facts = {.adapter_bytes = 8 * kGiB, .report = MemoryReport{0, 0}};
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 6 * kGiB);
  facts.report = MemoryReport{UINT64_MAX, UINT64_MAX};
  facts.own_bytes = UINT64_MAX;
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), 6 * kGiB);
  facts.adapter_bytes = UINT64_MAX;
  EXPECT_EQ(MemoryBudgetOf(facts, UINT64_MAX), UINT64_MAX / 4 * 3);
}

}  // namespace
}  // namespace opserve::d3d12
