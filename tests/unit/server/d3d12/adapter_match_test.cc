#include "server/d3d12/runtime/adapter_match.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace opserve::d3d12 {
namespace {

AdapterInfo Adapter(std::string name, uint64_t luid) {
  AdapterInfo adapter;
  adapter.name = std::move(name);
  adapter.vendor_id = 0x10DE;
  adapter.luid = luid;
  return adapter;
}

using Adapters = std::vector<AdapterInfo>;

TEST(AdapterMatchTest, LuidsComeFirst) {
  const Adapters known = {Adapter("a", 1), Adapter("a", 2), Adapter("b", 3)};
  // One of them has another name now.
  const Adapters present = {Adapter("b", 3), Adapter("a", 2), Adapter("a, updated", 1)};
  EXPECT_EQ(FindAgain(known, 0, present), 2u);
  EXPECT_EQ(FindAgain(known, 1, present), 1u);
  EXPECT_EQ(FindAgain(known, 2, present), 0u);
}

TEST(AdapterMatchTest, ElseNamesAndIdsDo) {
  const Adapters known = {Adapter("a", 1), Adapter("b", 2)};
  const Adapters present = {Adapter("b", 12), Adapter("a", 11)};
  EXPECT_EQ(FindAgain(known, 0, present), 1u);
  EXPECT_EQ(FindAgain(known, 1, present), 0u);
}

TEST(AdapterMatchTest, HardwareOfOtherIdsIsAnother) {
  const Adapters known = {Adapter("a", 1)};
  for (int id = 0; id < 3; ++id) {
    AdapterInfo other = Adapter("a", 2);
    EXPECT_EQ(FindAgain(known, 0, Adapters{other}), 0u);
    if (id == 0) other.vendor_id = 0x1002;
    if (id == 1) other.device_id = 1;
    if (id == 2) other.is_software = true;
    EXPECT_EQ(FindAgain(known, 0, Adapters{other}), std::nullopt);
  }
}

// Of two that are alike one was updated: the other is not taken for it.
TEST(AdapterMatchTest, TwinsStayApart) {
  const Adapters known = {Adapter("a", 1), Adapter("a", 2)};
  const Adapters one_is_new = {Adapter("a", 2), Adapter("a", 11)};
  EXPECT_EQ(FindAgain(known, 0, one_is_new), 1u);
  EXPECT_EQ(FindAgain(known, 1, one_is_new), 0u);
  const Adapters both_are_new = {Adapter("a", 12), Adapter("a", 11)};
  EXPECT_EQ(FindAgain(known, 0, both_are_new), 0u);
  EXPECT_EQ(FindAgain(known, 1, both_are_new), 1u);
  const Adapters one_is_gone = {Adapter("a", 2)};
  EXPECT_EQ(FindAgain(known, 0, one_is_gone), std::nullopt);
  EXPECT_EQ(FindAgain(known, 1, one_is_gone), 0u);
}

TEST(AdapterMatchTest, LuidsThatTellNothingAreNotAsked) {
  for (const uint64_t luid : {0, 7}) {
    const Adapters known = {Adapter("a", luid), Adapter("b", luid)};
    const Adapters present = {Adapter("b", luid), Adapter("a", luid)};
    EXPECT_EQ(FindAgain(known, 0, present), 1u);
    EXPECT_EQ(FindAgain(known, 1, present), 0u);
    EXPECT_EQ(FindAgain(known, 0, Adapters{}), std::nullopt);
  }
}

}  // namespace
}  // namespace opserve::d3d12
