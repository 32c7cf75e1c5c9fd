// Copies by several threads: every byte arrives, whoever copies it and whoever else has copies
// done.

#include "server/d3d12/host_copier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace opserve::d3d12 {
namespace {

using Bytes = std::vector<std::byte>;

Bytes RandomBytes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

// Of stretches of odd lengths around `length`, in the order of their places in `to` and, from the
// last one on, in `from`.
HostCopies Stretches(const Bytes& from, Bytes& to, size_t length) {
  HostCopies copies;
  for (size_t done = 0; done < from.size();) {
    const size_t bytes = std::min(length + copies.size() % 7, from.size() - done);
    copies.push_back({to.data() + done, from.data() + from.size() - done - bytes, bytes});
    done += bytes;
  }
  return copies;
}

// What CopyAll makes of the same.
Bytes Expected(const Bytes& from, size_t length) {
  Bytes to(from.size());
  CopyAll(Stretches(from, to, length));
  return to;
}

TEST(HostCopierTest, EveryByteArrives) {
  for (const size_t threads : {1, 2, 5}) {
    HostCopier copier(threads);
    for (const size_t size : {size_t{0}, size_t{1000}, size_t{HostCopier::kLeastShared} + 12345}) {
      const Bytes from = RandomBytes(size, size);
      for (const size_t length : {size_t{4096}, size_t{1} << 30}) {
        Bytes to(size);
        copier.Run(Stretches(from, to, length));
        EXPECT_EQ(to, Expected(from, length)) << threads << " threads, " << size << " bytes";
      }
    }
  }
}

TEST(HostCopierTest, ManyCallersShareTheThreads) {
  HostCopier copier(3);
  const Bytes from = RandomBytes(HostCopier::kLeastShared + 1, 1);
  const Bytes expected = Expected(from, 100000);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        Bytes to(from.size());
        copier.Run(Stretches(from, to, 100000));
        EXPECT_EQ(to, expected);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(CopyThreadsForTest, LeavesProcessorsToOthers) {
  EXPECT_EQ(CopyThreadsFor(0), 1u);  // nobody knows how many there are
  EXPECT_EQ(CopyThreadsFor(2), 1u);
  EXPECT_EQ(CopyThreadsFor(8), 4u);
  EXPECT_EQ(CopyThreadsFor(16), 8u);
  EXPECT_EQ(CopyThreadsFor(128), kMostCopyThreads);
}

}  // namespace
}  // namespace opserve::d3d12
