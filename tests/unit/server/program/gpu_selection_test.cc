#include "server/program/gpu_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace opserve {
namespace {

using d3d12::AdapterInfo;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AdapterInfo Adapter(const std::string& name, bool is_software = false) {
  AdapterInfo adapter;
  adapter.name = name;
  adapter.driver = "driver 1.2";
  adapter.is_software = is_software;
  adapter.memory_bytes = uint64_t{8} << 30;
  return adapter;
}

const std::vector<AdapterInfo>& Machine() {
  static const auto& machine = *new std::vector<AdapterInfo>{
      Adapter("NVIDIA H100"), Adapter("llvmpipe", true), Adapter("NVIDIA H100"), Adapter("AMD W7")};
  return machine;
}

// The names of what `options` select on Machine().
std::vector<std::string> Names(const GpuOptions& options) {
  const auto choices = SelectGpus(Machine(), options);
  EXPECT_TRUE(choices.ok()) << choices.status();
  std::vector<std::string> names;
  if (choices.ok()) {
    for (const GpuChoice& choice : *choices) names.push_back(choice.name);
  }
  return names;
}

std::string Refusal(const GpuOptions& options) {
  const auto choices = SelectGpus(Machine(), options);
  EXPECT_EQ(choices.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(choices.status().message());
}

TEST(GpuSelectionTest, AutoTakesHardware) {
  EXPECT_THAT(Names({}), ElementsAre("d3d12/NVIDIA H100", "d3d12/NVIDIA H100#2", "d3d12/AMD W7"));
}

TEST(GpuSelectionTest, SoftwareOnlyWhereAllowed) {
  EXPECT_THAT(Names({.allow_software = true}), ElementsAre("d3d12/NVIDIA H100", "d3d12/llvmpipe",
                                                           "d3d12/NVIDIA H100#2", "d3d12/AMD W7"));
  EXPECT_THAT(Refusal({.devices = {"llvm"}}), HasSubstr("--allow-software-adapters"));
  EXPECT_THAT(Names({.devices = {"llvm"}, .allow_software = true}), ElementsAre("d3d12/llvmpipe"));
}

TEST(GpuSelectionTest, NumbersAndNamesInAnyCase) {
  EXPECT_THAT(Names({.devices = {"3"}}), ElementsAre("d3d12/AMD W7"));
  EXPECT_THAT(Names({.devices = {"amd", "0"}}), ElementsAre("d3d12/NVIDIA H100", "d3d12/AMD W7"));
}

TEST(GpuSelectionTest, ANumberWithoutAnAdapterIsPartOfAName) {
  EXPECT_THAT(Names({.devices = {"100"}}), ElementsAre("d3d12/NVIDIA H100", "d3d12/NVIDIA H100#2"));
  // Of one with an adapter it is not.
  EXPECT_THAT(Names({.devices = {"0"}}), ElementsAre("d3d12/NVIDIA H100"));
}

TEST(GpuSelectionTest, AnAdapterNamedTwiceIsTakenOnce) {
  EXPECT_THAT(Names({.devices = {"amd", "3"}}), ElementsAre("d3d12/AMD W7"));
}

TEST(GpuSelectionTest, NoneMeansNone) { EXPECT_THAT(Names({.devices = {"none"}}), IsEmpty()); }

TEST(GpuSelectionTest, AutoWithoutAdaptersIsNoError) {
  const auto choices = SelectGpus({}, {});
  ASSERT_TRUE(choices.ok());
  EXPECT_THAT(*choices, IsEmpty());
}

TEST(GpuSelectionTest, WhatMatchesNothingIsRefusedWithTheList) {
  EXPECT_THAT(Refusal({.devices = {"auto", "voodoo"}}),
              AllOf(HasSubstr("voodoo"), HasSubstr("0: NVIDIA H100"), HasSubstr("software")));
  EXPECT_THAT(Refusal({.devices = {"4"}}), HasSubstr("\"4\""));
}

TEST(GpuSelectionTest, InstancesHaveNamesOfTheirOwn) {
  EXPECT_THAT(Names({.devices = {"0"}, .instances = 3}),
              ElementsAre("d3d12/NVIDIA H100", "d3d12/NVIDIA H100#2", "d3d12/NVIDIA H100#3"));
}

}  // namespace
}  // namespace opserve
