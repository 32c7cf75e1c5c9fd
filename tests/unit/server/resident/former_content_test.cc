// What a tensor held before counts against its client's quota while it is still read.

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/errors/status_testing.h"
#include "tests/unit/server/resident/store_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// A client may have two tensors of 512 KiB.
class FormerContentTest : public TensorStoreTest {
 protected:
  static constexpr uint32_t kBytes = 512 * kKiB;
  static constexpr uint64_t kCharge = TensorCharge(kBytes);

  std::string Half() { return Create("a", {.desc = Bytes(kBytes)}); }
};

TEST_F(FormerContentTest, CountsUntilItsReadersAreDone) {
  const std::string handle = Half();
  auto reader = Snapshot("a", handle);
  EXPECT_EQ(store_.bytes(), kCharge);
  ASSERT_TRUE(Write(handle, 0, "x").ok());
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
  auto same_reader = reader;
  reader.reset();
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
  same_reader.reset();
  EXPECT_EQ(store_.bytes(), kCharge);
}

TEST_F(FormerContentTest, WritesBeyondTheQuotaAreRefusedAndLeaveNoTrace) {
  const std::string handle = Half();
  std::vector<std::shared_ptr<const std::byte>> readers = {Snapshot("a", handle)};
  ASSERT_TRUE(Write(handle, 0, "x").ok());
  readers.push_back(Snapshot("a", handle));
  for (int i = 0; i < 8; ++i) {
    const absl::Status status = Write(handle, 0, "y");
    EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
    EXPECT_TRUE(MayRetry(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("former contents"));
    readers.push_back(Snapshot("a", handle));
  }
  EXPECT_EQ(readers.back().get(), readers[1].get());
  EXPECT_EQ(Text("a", handle)[0], 'x');
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
  // The first reader had the former content to itself.
  readers.erase(readers.begin());
  EXPECT_TRUE(Write(handle, 0, "y").ok());
  readers.clear();
  EXPECT_EQ(store_.bytes(), kCharge);
}

TEST_F(FormerContentTest, ResultsCountLikeWrites) {
  const std::string handle = Half();
  const auto tensor = *store_.Find("a", handle);
  auto reader = tensor->Snapshot();
  ASSERT_TRUE(tensor->Replace(buffers_.Take(kBytes)).ok());
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
  const auto second = tensor->Snapshot();
  EXPECT_EQ(ReasonOf(tensor->Replace(buffers_.Take(kBytes))), "TENSOR_QUOTA");
  EXPECT_EQ(tensor->Snapshot().data.get(), second.data.get());
  reader = {};
  EXPECT_TRUE(tensor->Replace(buffers_.Take(kBytes)).ok());
}

TEST_F(FormerContentTest, CountsAfterTheEndOfTheTensor) {
  const std::string handle = Half();
  auto reader = Snapshot("a", handle);
  EXPECT_EQ(Delete("a", handle), 1);
  EXPECT_EQ(store_.bytes(), kCharge);
  Half();
  EXPECT_EQ(ReasonOf(store_.Create("a", {.desc = Bytes(1)}).status()), "TENSOR_QUOTA");
  reader.reset();
  Half();
}

TEST_F(FormerContentTest, ATensorInUseCountsAfterItsEnd) {
  const std::string handle = Half();
  auto used = *store_.Find("a", handle);
  EXPECT_EQ(Delete("a", handle), 1);
  EXPECT_EQ(store_.bytes(), kCharge);
  used.reset();
  EXPECT_EQ(store_.bytes(), 0);
}

TEST_F(FormerContentTest, ContentOfSeveralTensorsCountsOncePerTensor) {
  // Digests are known while their client has any tensor.
  CreateText("a", "other");
  const uint64_t others = store_.bytes();
  const std::string first = CreateHashed("a", "hello");
  auto reader = Snapshot("a", first);
  const std::string second = CreateHashed("a", "hello");
  EXPECT_EQ(store_.bytes() - others, 2 * TensorCharge(5));
  // The other one's charge is enough for the content.
  Delete("a", first);
  EXPECT_EQ(store_.bytes() - others, TensorCharge(5));
  Delete("a", second);
  EXPECT_EQ(store_.bytes() - others, TensorCharge(5));
  // Found again while it is read, it counts with the new tensor alone.
  const std::string third = CreateHashed("a", "hello");
  EXPECT_EQ(Snapshot("a", third).get(), reader.get());
  EXPECT_EQ(store_.bytes() - others, TensorCharge(5));
  Delete("a", third);
  EXPECT_EQ(store_.bytes() - others, TensorCharge(5));
  reader.reset();
  EXPECT_EQ(store_.bytes(), others);
}

TEST_F(FormerContentTest, FoundAgainItCountsOncePerTensorAlsoAfterItsReader) {
  CreateText("a", "other");
  const uint64_t others = store_.bytes();
  const std::string first = CreateHashed("a", "hello");
  auto reader = Snapshot("a", first);
  Delete("a", first);
  const std::string second = CreateHashed("a", "hello");
  const std::string third = CreateHashed("a", "hello");
  EXPECT_EQ(Snapshot("a", third).get(), reader.get());
  EXPECT_EQ(store_.bytes() - others, 2 * TensorCharge(5));
  reader.reset();
  EXPECT_EQ(store_.bytes() - others, 2 * TensorCharge(5));
  Delete("a", second);
  EXPECT_EQ(store_.bytes() - others, TensorCharge(5));
  Delete("a", third);
  EXPECT_EQ(store_.bytes(), others);
}

TEST_F(FormerContentTest, WhatAWriteLeftIsChargedUntilATensorHasItAgain) {
  const std::string text(kBytes / 4, 'x');
  const std::string written = CreateHashed("a", text);
  auto reader = Snapshot("a", written);
  ASSERT_TRUE(Write(written, 0, "y").ok());
  EXPECT_EQ(store_.bytes(), 2 * TensorCharge(kBytes / 4));
  const std::string again = CreateHashed("a", text);
  EXPECT_EQ(Snapshot("a", again).get(), reader.get());
  EXPECT_EQ(store_.bytes(), 2 * TensorCharge(kBytes / 4));
  reader.reset();
  EXPECT_EQ(store_.bytes(), 2 * TensorCharge(kBytes / 4));
  Delete("a", written);
  EXPECT_EQ(store_.bytes(), TensorCharge(kBytes / 4));
}

TEST_F(FormerContentTest, AResultThatWasRefusedCountsLikeOthersOnceItIsTaken) {
  const std::string handle = Half();
  const auto tensor = *store_.Find("a", handle);
  auto first = tensor->Snapshot();
  ASSERT_TRUE(tensor->Replace(buffers_.Take(kBytes)).ok());
  auto second = tensor->Snapshot();
  const auto fresh = std::make_shared<TensorContent>(buffers_.Take(kBytes), kBytes);
  EXPECT_EQ(ReasonOf(tensor->Replace(fresh)), "TENSOR_QUOTA");
  first = {};
  ASSERT_TRUE(tensor->Replace(fresh).ok());
  second = {};
  EXPECT_EQ(store_.bytes(), kCharge);
  const auto third = tensor->Snapshot();
  EXPECT_EQ(third.data.get(), fresh->data());
  ASSERT_TRUE(tensor->Replace(buffers_.Take(kBytes)).ok());
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
}

TEST_F(FormerContentTest, ContentWithADigestNeedsNoRoomWhereNobodyReadsIt) {
  const std::string text(kBytes, 'x');
  const std::string first = CreateHashed("a", text);
  Half();
  EXPECT_TRUE(Write(first, 0, "y").ok());
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
}

TEST_F(FormerContentTest, HalfAWriteKeepsTheBooks) {
  const std::string handle = Half();
  const auto tensor = *store_.Find("a", handle);
  auto reader = tensor->Snapshot();
  EXPECT_THROW((void)tensor->Write(0, 1, [](std::byte*) { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(store_.bytes(), 2 * kCharge);
  reader = {};
  EXPECT_EQ(store_.bytes(), kCharge);
}

TEST_F(FormerContentTest, ACopyLeavesNothingRead) {
  const std::string handle = CreateText("a", "hello");
  const auto tensor = *store_.Find("a", handle);
  const HostBuffer copy = tensor->Copy(1, 3);
  EXPECT_EQ(std::memcmp(copy.data(), "ell", 3), 0);
  ASSERT_TRUE(Write(handle, 0, "J").ok());
  EXPECT_EQ(store_.bytes(), TensorCharge(5));
  const auto zeros = *store_.Find("a", Create("a", {.desc = Bytes(100)}));
  { std::memset(buffers_.Take(9).data(), 0x55, 9); }
  EXPECT_EQ(std::memcmp(zeros->Copy(90, 9).data(), std::string(9, '\0').data(), 9), 0);
}

}  // namespace
}  // namespace opserve::testing
