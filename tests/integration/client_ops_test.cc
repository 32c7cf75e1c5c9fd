// The functions of opserve/ops.h: the calls that they make, and that a server takes every one.

#include <cmath>

#include "gmock/gmock.h"
#include "opserve/ops.h"
#include "tests/integration/client_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;

class ClientOpsTest : public ClientFixture {
 protected:
  ClientOpsTest() { Start(); }

  // What the server makes of the call.
  Floats Run(const OperatorCall& call) {
    const auto output = client_->Execute(call);
    if (!output.ok()) {
      ADD_FAILURE() << Describe(output.status());
      return {};
    }
    return *output->ToFloats();
  }

  const Floats values_ = {-1.5f, 0.5f, 2.5f};
  const TensorView x_ = ViewOf(values_);
};

TEST_F(ClientOpsTest, EnumsHaveTheirOwnType) {
  EXPECT_THAT(Run(ops::Round(x_, RoundingMode::kTowardZero)), ElementsAre(-1, 0, 2));
  EXPECT_THAT(Run(ops::Round(x_, RoundingMode::kTowardInfinity)), ElementsAre(-2, 1, 3));
  EXPECT_THAT(Run(ops::Round(x_, RoundingMode::kHalvesToNearestEven)), ElementsAre(-2, 0, 2));
  const Floats infinities = {INFINITY, -INFINITY, 1};
  const auto found = client_->Execute(ops::IsInfinity(ViewOf(infinities), InfinityMode::kNegative));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found->Elements<uint8_t>(), ElementsAre(0, 1, 0));
}

TEST_F(ClientOpsTest, NamesAreConstants) {
  EXPECT_EQ(ops::Round(x_, RoundingMode::kTowardZero).operator_name, ops::kElementWiseRound);
  const auto catalogue = client_->ListOperators(ops::kActivationElu);
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  EXPECT_EQ(catalogue->operators.front().name, "ACTIVATION_ELU");
}

TEST_F(ClientOpsTest, NumbersListsAndScalars) {
  EXPECT_THAT(Run(ops::ActivationLinear(x_, 2, 1)), ElementsAre(-2, 2, 6));
  EXPECT_THAT(Run(ops::Clip(x_, -1, 1)), ElementsAre(-1, 0.5f, 1));
  EXPECT_THAT(Run(ops::Clip1(x_, -1.0f, 1.0f)), ElementsAre(-1, 0.5f, 1));
  EXPECT_THAT(Run(ops::ActivationHardmax1(x_, {0})), ElementsAre(0, 0, 1));
}

TEST_F(ClientOpsTest, ScalarsHaveTheTypeOfTheTensors) {
  const std::vector<uint64_t> large = {0, UINT64_MAX, uint64_t{1} << 63};
  const auto clipped = client_->Execute(
      ops::Clip1(TensorView::Of<uint64_t>(large, {3}), uint64_t{5}, UINT64_MAX - 1));
  ASSERT_TRUE(clipped.ok()) << clipped.status();
  EXPECT_THAT(*clipped->Elements<uint64_t>(), ElementsAre(5, UINT64_MAX - 1, uint64_t{1} << 63));
  const std::vector<int8_t> small = {-128, 0, 127};
  const auto bytes =
      client_->Execute(ops::Clip1(TensorView::Of<int8_t>(small, {3}), int8_t{-5}, int8_t{5}));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_THAT(*bytes->Elements<int8_t>(), ElementsAre(-5, 0, 5));
  const std::vector<Half> halves = {Half(-3), Half(0.5f), Half(3)};
  EXPECT_THAT(Run(ops::Clip1(TensorView::Of<Half>(halves, {3}), Half(-1.5f), Half(1.5f))),
              ElementsAre(-1.5f, 0.5f, 1.5f));
}

TEST_F(ClientOpsTest, WhatMayBeLeftOut) {
  EXPECT_THAT(Run(ops::Abs(x_)), ElementsAre(1.5f, 0.5f, 2.5f));
  EXPECT_THAT(Run(ops::Abs(x_, ops::ScaleBias{.scale = 2, .bias = 1})), ElementsAre(2, 2, 6));
  EXPECT_THAT(Run(ops::Add1(x_, x_)), ElementsAre(-3, 1, 5));
  EXPECT_THAT(Run(ops::Add1(x_, x_, ops::FusedRelu())), ElementsAre(0, 1, 5));
  EXPECT_THAT(Run(ops::Add1(x_, x_, ops::FusedLeakyRelu(0.5f))), ElementsAre(-1.5f, 1, 5));
  const Floats scale = {0.5f, 0.5f, 0.5f};
  const std::vector<uint8_t> zero = {1, 2, 3};
  const std::vector<uint8_t> quantised = {5, 6, 7};
  const auto bytes = [](const std::vector<uint8_t>& values) {
    return TensorView::Of<uint8_t>(values, {3});
  };
  EXPECT_THAT(Run(ops::DequantizeLinear(bytes(quantised), ViewOf(scale))),
              ElementsAre(2.5f, 3, 3.5f));
  EXPECT_THAT(Run(ops::DequantizeLinear(bytes(quantised), ViewOf(scale), bytes(zero))),
              ElementsAre(2, 2, 2));
}

TEST_F(ClientOpsTest, TensorsInTheMiddleMayBeLeftOut) {
  const Floats one = {1};
  const std::vector<uint8_t> a = {10};
  const std::vector<uint8_t> b = {20};
  const std::vector<uint8_t> zero = {5};
  const auto bytes = [](const std::vector<uint8_t>& values) {
    return TensorView::Of<uint8_t>(values, {1});
  };
  const OperatorCall call = ops::QuantizedLinearAdd(bytes(a), ViewOf(one), bytes(b), ViewOf(one),
                                                    ViewOf(one), {}, bytes(zero));
  const auto sum = client_->Execute(call);
  ASSERT_TRUE(sum.ok()) << Describe(sum.status());
  EXPECT_THAT(*sum->Elements<uint8_t>(), ElementsAre(25));
}

}  // namespace
}  // namespace opserve::testing
