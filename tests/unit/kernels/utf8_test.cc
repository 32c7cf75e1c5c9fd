#include "kernels/utf8.h"

#include <gtest/gtest.h>

namespace opserve {
namespace {

TEST(TruncateUtf8Test, CutsTextBetweenCharacters) {
  EXPECT_EQ(TruncateUtf8("abc", 3), "abc");
  EXPECT_EQ(TruncateUtf8("abcdef", 5), "ab...");
  EXPECT_EQ(TruncateUtf8("aééé", 6), "aé...");
  EXPECT_EQ(TruncateUtf8("aééé", 5), "a...");
  EXPECT_EQ(TruncateUtf8("abcdef", 2), "..");
  EXPECT_EQ(TruncateUtf8("abcdef", 0), "");
  EXPECT_EQ(TruncateUtf8("a🧮b", 9), "a🧮b");
  EXPECT_EQ(TruncateUtf8("a🧮bcdef", 7), "a...");
}

TEST(TruncateUtf8Test, LeavesOutPartsOfCharacters) {
  EXPECT_EQ(TruncateUtf8("a\xc3\"b", 9), "a\"b");
  EXPECT_EQ(TruncateUtf8("a\xa9z", 9), "az");
  EXPECT_EQ(TruncateUtf8("z\xf0\x9f\xa7", 9), "z");
}

}  // namespace
}  // namespace opserve
