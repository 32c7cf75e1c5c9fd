// Contents that a device alone has: who fetches them, when, and what they are then.

#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/errors/status_testing.h"
#include "tests/unit/server/resident/store_fixture.h"

namespace opserve::testing {
namespace {

// Counts what is asked of it.
class FakeOrigin final : public ContentOrigin {
 public:
  explicit FakeOrigin(std::string text, bool is_kept = true,
                      std::shared_ptr<TensorContent> input = nullptr)
      : text_(std::move(text)), is_kept_(is_kept), input_(std::move(input)) {}

  bool Read(ContentId content, std::span<std::byte> to) const override {
    ++reads;
    last_content = content;
    if (is_kept_) std::memcpy(to.data(), text_.data(), to.size());
    return is_kept_;
  }
  void Compute(std::byte* to) const override {
    ++runs;
    if (fails.exchange(false)) throw std::bad_alloc();
    std::memcpy(to, text_.data(), text_.size());
  }
  std::optional<int> steps() const override { return 1; }

  mutable std::atomic<int> reads{0};
  mutable std::atomic<int> runs{0};
  mutable std::atomic<bool> fails{false};
  mutable std::atomic<ContentId> last_content{kNoContent};

 private:
  const std::string text_;
  const bool is_kept_;
  const std::shared_ptr<TensorContent> input_;
};

class UnreadContentTest : public TensorStoreTest {
 protected:
  // A tensor on a device, of which `origin` knows the bytes.
  std::shared_ptr<ResidentTensor> Unread(const std::shared_ptr<FakeOrigin>& origin,
                                         uint32_t bytes = 5) {
    auto tensor = *store_.Find("a", Create("a", {.desc = Bytes(bytes), .device = "gpu/0"}));
    EXPECT_TRUE(Put(*tensor, origin).ok());
    return tensor;
  }
  absl::Status Put(ResidentTensor& tensor, const std::shared_ptr<FakeOrigin>& origin) {
    return tensor.Replace(
        std::make_shared<TensorContent>(origin, tensor.bytes(), NewContentId(), buffers_));
  }
  static std::string TextOf(ResidentTensor& tensor) {
    const HostBuffer copy = tensor.Copy(0, tensor.bytes());
    return {reinterpret_cast<const char*>(copy.data()), tensor.bytes()};
  }
  // A text that needs the content of `tensor`.
  static std::shared_ptr<FakeOrigin> DependentOn(ResidentTensor& tensor) {
    return std::make_shared<FakeOrigin>("hello", true,
                                        TensorContent::ShareOfOrigin(*tensor.Snapshot().share));
  }
};

TEST_F(UnreadContentTest, SnapshotsFetchNothing) {
  const auto origin = std::make_shared<FakeOrigin>("hello");
  const auto tensor = Unread(origin);
  const TensorSnapshot snapshot = tensor->Snapshot();
  EXPECT_TRUE(snapshot.bytes().is_unread());
  EXPECT_FALSE(snapshot.bytes().is_absent());
  EXPECT_EQ(snapshot.bytes().content(), tensor->content());
  EXPECT_EQ(origin->reads, 0);
  const TensorBytes fetched = snapshot.bytes().Fetched();
  EXPECT_FALSE(fetched.is_unread());
  EXPECT_EQ(std::memcmp(fetched.data(), "hello", 5), 0);
  // By the name that the device knows them by, which they keep.
  EXPECT_EQ(origin->last_content, snapshot.content);
  EXPECT_EQ(fetched.content(), snapshot.content);
  EXPECT_EQ(tensor->Snapshot().data.get(), fetched.data());
  EXPECT_EQ(tensor->unread(), nullptr);
}

TEST_F(UnreadContentTest, AreFetchedOnce) {
  const auto origin = std::make_shared<FakeOrigin>("hello");
  const auto tensor = Unread(origin);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(TextOf(*tensor), "hello"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(origin->reads, 1);
  EXPECT_EQ(origin->runs, 0);
}

// Other NaNs, perhaps, so the device's copy is of another content.
TEST_F(UnreadContentTest, WhatIsComputedAgainHasAnotherId) {
  const auto origin = std::make_shared<FakeOrigin>("hello", /*is_kept=*/false);
  const auto tensor = Unread(origin);
  const ContentId before = tensor->content();
  const TensorSnapshot snapshot = tensor->Snapshot();
  EXPECT_EQ(TextOf(*tensor), "hello");
  EXPECT_EQ(origin->runs, 1);
  EXPECT_NE(tensor->content(), before);
  EXPECT_EQ(snapshot.bytes().content(), tensor->content());
}

TEST_F(UnreadContentTest, AFetchThatFailsMayBeMadeAgain) {
  const auto origin = std::make_shared<FakeOrigin>("hello", /*is_kept=*/false);
  origin->fails = true;
  const auto tensor = Unread(origin);
  EXPECT_THROW((void)tensor->Copy(0, 5), std::bad_alloc);
  EXPECT_NE(tensor->unread(), nullptr);
  EXPECT_EQ(TextOf(*tensor), "hello");
}

TEST_F(UnreadContentTest, TakeNoMemoryOfTheHost) {
  const auto origin = std::make_shared<FakeOrigin>("hello");
  const auto tensor = Unread(origin);
  EXPECT_EQ(tensor->unread()->data(), nullptr);
  EXPECT_EQ(TextOf(*tensor), "hello");
  // The origin is of no more use, and what it needs is free.
  EXPECT_EQ(origin.use_count(), 1);
}

TEST_F(UnreadContentTest, WritesFetchWhatTheyLeave) {
  const auto origin = std::make_shared<FakeOrigin>("hello");
  const auto tensor = Unread(origin);
  ASSERT_TRUE(tensor->Write(1, 1, Filler("u")).ok());
  EXPECT_EQ(TextOf(*tensor), "hullo");
  const auto other = std::make_shared<FakeOrigin>("other");
  ASSERT_TRUE(Put(*tensor, other).ok());
  ASSERT_TRUE(tensor->Write(0, 5, Filler("whole")).ok());
  EXPECT_EQ(TextOf(*tensor), "whole");
  EXPECT_EQ(other->reads, 0);
}

TEST_F(UnreadContentTest, WhatTheyNeedIsNotWrittenTo) {
  const auto input = *store_.Find("a", CreateText("a", "input"));
  const auto dependent = Unread(DependentOn(*input));
  // It lives as long as what depends on it.
  const std::byte* const needed = input->Snapshot().data.get();
  ASSERT_TRUE(input->Write(0, 5, Filler("later")).ok());
  EXPECT_EQ(std::memcmp(needed, "input", 5), 0);
  EXPECT_EQ(TextOf(*input), "later");
}

class NeededContentQuotaTest : public UnreadContentTest {
 protected:
  static constexpr uint32_t kBytes = 512 * kKiB;
  static constexpr uint64_t kCharge = TensorCharge(kBytes);
};

// Until nothing needs it any more.
TEST_F(NeededContentQuotaTest, CountsBesideWhatReplacesIt) {
  const std::string handle = Create("a", {.desc = Bytes(kBytes)});
  const auto tensor = *store_.Find("a", handle);
  auto origin = DependentOn(*tensor);
  EXPECT_EQ(store_.bytes(), kCharge);
  ASSERT_TRUE(tensor->Replace(buffers_.Take(kBytes)).ok());
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
  const absl::Status status = Write(handle, 0, "x");
  EXPECT_TRUE(status.ok()) << status;
  const auto second = DependentOn(*tensor);
  EXPECT_EQ(ReasonOf(Write(handle, 0, "y")), "TENSOR_QUOTA");
  origin.reset();
  EXPECT_EQ(store_.bytes(), kCharge);
  EXPECT_TRUE(Write(handle, 0, "y").ok());
}

// There is nothing to charge for but records.
TEST_F(NeededContentQuotaTest, UnreadOnesAreFree) {
  const auto tensor = Unread(std::make_shared<FakeOrigin>("x"), kBytes);
  for (int i = 0; i < 3; ++i) {
    const auto origin = DependentOn(*tensor);
    ASSERT_TRUE(Put(*tensor, origin).ok());
    EXPECT_EQ(store_.bytes(), kCharge);
  }
  // But who reads such a one may have it fetched at any time.
  const TensorSnapshot reader = tensor->Snapshot();
  ASSERT_TRUE(Put(*tensor, DependentOn(*tensor)).ok());
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
}

TEST_F(NeededContentQuotaTest, TheStoreKnowsWhatIsUnread) {
  EXPECT_TRUE(store_.Unread("a").empty());
  Create("a", {.desc = Bytes(5)});
  const auto tensor = Unread(std::make_shared<FakeOrigin>("hello"));
  ASSERT_EQ(store_.Unread("a").size(), 1);
  EXPECT_TRUE(store_.Unread("b").empty());
  store_.Unread("a")[0]->Fetch();
  EXPECT_TRUE(store_.Unread("a").empty());
}

}  // namespace
}  // namespace opserve::testing
