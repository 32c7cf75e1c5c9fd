#include "client/wire/large_copy.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

// Bytes that say where they lie.
std::vector<std::byte> Numbered(uint64_t count) {
  std::vector<std::byte> bytes(count);
  for (uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 24);
  return bytes;
}

// Copies `from` in pieces that end at `ends` and at its end. The bytes around the target stay.
bool IsCopied(const std::vector<std::byte>& from, const std::vector<uint64_t>& ends) {
  std::vector<ByteSlice> pieces;
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    pieces.emplace_back(from.data() + begin, end - begin);
    begin = end;
  }
  pieces.emplace_back(from.data() + begin, from.size() - begin);
  constexpr auto kAround = std::byte{0x5a};
  std::vector<std::byte> to(from.size() + 2, kAround);
  CopyPieces(pieces, to.data() + 1);
  return to.front() == kAround && to.back() == kAround &&
         std::equal(from.begin(), from.end(), to.begin() + 1);
}

TEST(LargeCopyTest, CopiesEveryByteOfAnyNumberAndPieces) {
  EXPECT_TRUE(IsCopied({}, {}));
  EXPECT_TRUE(IsCopied(Numbered(1), {0, 0, 1, 1}));
  EXPECT_TRUE(IsCopied(Numbered(1000), {1, 2, 2, 999}));
  for (const uint64_t copiers : {2, 3, 4, 5}) {
    const uint64_t bytes = copiers * kLeastBytesPerCopier;
    for (const uint64_t count : {bytes - 1, bytes, bytes + 1}) {
      const std::vector<std::byte> from = Numbered(count);
      EXPECT_TRUE(IsCopied(from, {})) << count;
      // Shares end within pieces, and pieces within shares.
      EXPECT_TRUE(IsCopied(from, {7, 7, count / 3, count / 2, count / 2 + 1, count - 1})) << count;
    }
  }
}

// Leaves no room for the stack of a thread.
[[noreturn]] void CopyWithoutThreads() {
  const std::vector<std::byte> from = Numbered(4 * kLeastBytesPerCopier);
  std::vector<std::byte> to(from.size());
  const rlimit limit = {0, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
  bool is_started = true;
  try {
    std::jthread([] {}).join();
  } catch (const std::system_error&) {
    is_started = false;
  }
  if (is_started) std::exit(3);
  CopyPiece(from, to.data());
  std::exit(from == to ? 0 : 1);
}

TEST(LargeCopyDeathTest, CopiesWhereNoThreadCanBeStarted) {
  EXPECT_EXIT(CopyWithoutThreads(), ::testing::ExitedWithCode(0), "");
}
}  // namespace
}  // namespace opserve::client_internal
