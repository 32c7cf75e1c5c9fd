// Every byte arrives, and none beside them, wherever lines of the cache begin.

#include "server/d3d12/streamed_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace opserve::d3d12 {
namespace {

TEST(StreamedCopyTest, CopiesWhatItIsToldAndNothingElse) {
  constexpr size_t kRoom = 64 + 200 + 64;
  std::vector<std::byte> from(kRoom);
  for (size_t i = 0; i < kRoom; ++i) from[i] = static_cast<std::byte>(i % 251 + 1);
  for (size_t to_at = 0; to_at < 64; ++to_at) {
    for (const size_t from_at : {size_t{0}, size_t{1}, size_t{16}, size_t{63}}) {
      for (size_t bytes = 0; bytes <= 200; ++bytes) {
        std::vector<std::byte> to(kRoom);
        std::vector<std::byte> expected(kRoom);
        StreamedCopy(to.data() + to_at, from.data() + from_at, bytes);
        std::memcpy(expected.data() + to_at, from.data() + from_at, bytes);
        ASSERT_EQ(to, expected) << to_at << ", " << from_at << ", " << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace opserve::d3d12
