// What resident tensors count, compared with the memory that the allocator says they take.

#include <malloc.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/server/resident/store_fixture.h"

namespace opserve::testing {
namespace {

// As docs/operations.md says of hosts and the names that clients give themselves.
constexpr size_t kLongestName = 200;

uint64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class MemoryCostTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kTiB = uint64_t{1} << 40;

  void SetUp() override {
    const uint64_t before = AllocatedBytes();
    const std::vector<char> probe(1 << 16);
    if (AllocatedBytes() < before + probe.size()) GTEST_SKIP() << "another allocator is in charge";
  }

  // Bytes that `count` tensors take for each byte that counts, all of clients of their own if that
  // is asked for. `prepare` makes the tensor of that number.
  template <class Prepare>
  double Cost(int count, bool has_many_clients, Prepare prepare) {
    SimulatedClock clock;
    HostBufferPool buffers(0);
    TensorStore store(
        {.max_bytes_per_client = kTiB, .max_bytes = kTiB, .max_tensors_per_client = SIZE_MAX},
        clock, buffers);
    const std::string name(kLongestName, 'n');
    const uint64_t before = AllocatedBytes();
    for (int i = 0; i < count; ++i) {
      const std::string client = has_many_clients ? absl::StrCat(name, i) : name;
      const NewTensor tensor = prepare(i);
      const auto created = store.Create(client, tensor);
      EXPECT_TRUE(created.ok()) << created.status();
      if (created.ok() && created->has_content) {
        (void)(*store.Find(client, created->handle))->Snapshot();
      } else if (created.ok()) {
        EXPECT_TRUE(store.Write(client, created->handle, 0, 1, Filler("x")).ok());
      }
    }
    const auto taken = static_cast<double>(AllocatedBytes() - before);
    const double cost = taken / static_cast<double>(store.bytes());
    RecordProperty("bytes_per_tensor", absl::StrCat(taken / count));
    std::cout << taken / count << " bytes per tensor, " << cost << " per byte that counts\n";
    return cost;
  }
};

// The worst there is: each tensor has a client of its own, the longest names, and a digest under
// way.
TEST_F(MemoryCostTest, TinyTensorsUnderManyNamesTakeNoMoreThanTheyCount) {
  const double cost = Cost(4097, true, [](int i) {
    return NewTensor{
        .desc = Bytes(2), .label = std::string(128, 'l'), .digest = DigestOf(absl::StrCat(i))};
  });
  EXPECT_LE(cost, 1.0);
  EXPECT_GE(cost, 0.5);
}

TEST_F(MemoryCostTest, TinyTensorsOfOneClientTakeNoMoreThanTheyCount) {
  const double cost = Cost(4097, false, [](int i) {
    const std::string text = absl::StrCat(i);
    return NewTensor{.desc = Bytes(text.size()),
                     .label = std::string(128, 'l'),
                     .digest = DigestOf(text),
                     .fill = Filler(text)};
  });
  EXPECT_LE(cost, 1.0);
  EXPECT_GE(cost, 0.2);
}

TEST_F(MemoryCostTest, LargeContentsTakeWhatTheyCount) {
  const double cost = Cost(40, true, [](int) { return NewTensor{.desc = Bytes(900 * kKiB + 1)}; });
  EXPECT_LE(cost, 1.02);
  EXPECT_GE(cost, 0.9);
}

}  // namespace
}  // namespace opserve::testing
