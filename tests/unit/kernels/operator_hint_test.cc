#include "kernels/operator_hint.h"

#include "gtest/gtest.h"

namespace opserve {
namespace {

TEST(OperatorHintTest, EndsASentence) {
  EXPECT_EQ(OperatorHint("round"), "; did you mean ELEMENT_WISE_ROUND?");
  EXPECT_EQ(OperatorHint("MODULUS"),
            "; did you mean ELEMENT_WISE_MODULUS_FLOOR or ELEMENT_WISE_MODULUS_TRUNCATE?");
  EXPECT_EQ(OperatorHint("CONVOLUTION"), ".");
  EXPECT_EQ(OperatorHint("CONVOLUTION", "; see the list."), "; see the list.");
}

}  // namespace
}  // namespace opserve
