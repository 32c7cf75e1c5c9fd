// Ids of contents, by which devices know them.

#include <new>
#include <set>

#include "gtest/gtest.h"
#include "tests/unit/server/resident/store_fixture.h"

namespace opserve::testing {
namespace {

class ContentIdTest : public TensorStoreTest {
 protected:
  std::shared_ptr<ResidentTensor> Placed(const std::string& text) {
    const NewTensor tensor = {.desc = Bytes(text.size()), .device = "gpu/0", .fill = Filler(text)};
    return *store_.Find("a", Create("a", tensor));
  }
  static ContentId IdOf(ResidentTensor& tensor) { return tensor.Snapshot().content; }
};

TEST_F(ContentIdTest, OnlyTensorsOnADeviceHaveThem) {
  const std::string handle = CreateText("a", "hello");
  EXPECT_EQ((*store_.Find("a", handle))->Snapshot().content, kNoContent);
  EXPECT_NE(IdOf(*Placed("hello")), kNoContent);
  EXPECT_NE(IdOf(*Placed("hello")), IdOf(*Placed("hello")));
}

TEST_F(ContentIdTest, StayWhileNothingIsWritten) {
  const auto tensor = Placed("hello");
  const TensorSnapshot first = tensor->Snapshot();
  const TensorSnapshot second = tensor->Snapshot();
  EXPECT_EQ(first.content, second.content);
  EXPECT_EQ(first.data.get(), second.data.get());
}

TEST_F(ContentIdTest, ChangeWithEveryWrite) {
  const auto tensor = Placed("hello");
  std::set<ContentId> ids = {IdOf(*tensor)};
  // In place, because nobody reads.
  EXPECT_TRUE(tensor->Write(0, 1, Filler("J")).ok());
  EXPECT_TRUE(ids.insert(IdOf(*tensor)).second);
  // To a copy.
  const TensorSnapshot reader = tensor->Snapshot();
  EXPECT_TRUE(tensor->Write(0, 1, Filler("C")).ok());
  EXPECT_TRUE(ids.insert(IdOf(*tensor)).second);
  EXPECT_TRUE(ids.contains(reader.content));
  // Half a write.
  const auto fails = [](std::byte*) { throw std::bad_alloc(); };
  EXPECT_THROW(static_cast<void>(tensor->Write(0, 1, fails)), std::bad_alloc);
  EXPECT_TRUE(ids.insert(IdOf(*tensor)).second);
}

TEST_F(ContentIdTest, FreshZerosHaveOne) {
  const auto tensor = *store_.Find("a", Create("a", {.desc = Bytes(5), .device = "gpu/0"}));
  const ContentId zeros = IdOf(*tensor);
  EXPECT_NE(zeros, kNoContent);
  EXPECT_TRUE(tensor->Write(0, 1, Filler("J")).ok());
  EXPECT_NE(IdOf(*tensor), zeros);
}

TEST_F(ContentIdTest, ChangeWithEveryResult) {
  const auto tensor = Placed("hello");
  const ContentId before = IdOf(*tensor);
  EXPECT_TRUE(tensor->Replace(buffers_.Take(5)).ok());
  const ContentId fresh = IdOf(*tensor);
  EXPECT_NE(fresh, kNoContent);
  EXPECT_NE(fresh, before);
  // One that a device knows the result by.
  const ContentId known = NewContentId();
  EXPECT_TRUE(tensor->Replace(buffers_.Take(5), known).ok());
  EXPECT_EQ(IdOf(*tensor), known);
  EXPECT_TRUE(tensor->Write(0, 1, Filler("J")).ok());
  EXPECT_NE(IdOf(*tensor), known);
}

TEST_F(ContentIdTest, AreSharedWithTheContent) {
  const NewTensor tensor = {
      .desc = Bytes(5), .device = "gpu/0", .digest = DigestOf("hello"), .fill = Filler("hello")};
  const auto first = *store_.Find("a", Create("a", tensor));
  const auto second = *store_.Find("a", Create("a", tensor));
  const ContentId shared = IdOf(*first);
  EXPECT_EQ(IdOf(*second), shared);
  EXPECT_TRUE(first->Write(0, 1, Filler("J")).ok());
  EXPECT_NE(IdOf(*first), shared);
  EXPECT_EQ(IdOf(*second), shared);
}

}  // namespace
}  // namespace opserve::testing
