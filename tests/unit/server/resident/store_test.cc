// Resident tensors: content, owners, leases, quotas.

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/errors/status_testing.h"
#include "tests/unit/server/resident/store_fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

std::string Hex(const Sha256Digest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

TEST(Sha256Test, GivesTheKnownAnswers) {
  // FIPS 180-4, examples.
  EXPECT_EQ(Hex(DigestOf("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(DigestOf("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, PiecesGiveTheDigestOfTheWhole) {
  const std::string text = "in several pieces";
  Sha256 sha256;
  for (const char& c : text) sha256.Add(std::as_bytes(std::span(&c, 1)));
  EXPECT_EQ(sha256.Finish(), DigestOf(text));
}

TEST(Sha256Test, DigestsHave32Bytes) {
  const Sha256Digest digest = DigestOf("abc");
  EXPECT_EQ(Sha256DigestFrom({reinterpret_cast<const char*>(digest.data()), 32}), digest);
  EXPECT_EQ(Sha256DigestFrom({reinterpret_cast<const char*>(digest.data()), 31}), std::nullopt);
  EXPECT_EQ(Sha256DigestFrom(""), std::nullopt);
}

TEST_F(TensorStoreTest, KeepsWhatItIsGiven) {
  const std::string handle = CreateText("a", "hello");
  EXPECT_EQ(handle.size(), 32);
  EXPECT_EQ(Text("a", handle), "hello");
  EXPECT_EQ((*store_.Find("a", handle))->desc(), Bytes(5));
}

TEST_F(TensorStoreTest, FreshTensorsAreZeroWhateverTheMemoryHeld) {
  { std::memset(buffers_.Take(200).data(), 0x55, 200); }
  const std::string handle = Create("a", {.desc = Bytes(200)});
  EXPECT_EQ(Text("a", handle), std::string(200, '\0'));
}

TEST_F(TensorStoreTest, AWriteToAFreshTensorLeavesZerosAround) {
  { std::memset(buffers_.Take(200).data(), 0x55, 200); }
  const std::string handle = Create("a", {.desc = Bytes(200)});
  ASSERT_TRUE(Write(handle, 10, "xyz").ok());
  EXPECT_EQ(Text("a", handle), std::string(10, '\0') + "xyz" + std::string(187, '\0'));
}

TEST_F(TensorStoreTest, WritesReplaceJustTheirBytes) {
  const std::string handle = CreateText("a", "hello world");
  ASSERT_TRUE(Write(handle, 6, "there").ok());
  EXPECT_EQ(Text("a", handle), "hello there");
  ASSERT_TRUE(Write(handle, 0, "J").ok());
  ASSERT_TRUE(Write(handle, 11, "").ok());
  EXPECT_EQ(Text("a", handle), "Jello there");
}

TEST_F(TensorStoreTest, SnapshotsNeverChange) {
  const std::string handle = CreateText("a", "before");
  const auto snapshot = Snapshot("a", handle);
  ASSERT_TRUE(Write(handle, 0, "after!").ok());
  EXPECT_EQ(std::memcmp(snapshot.get(), "before", 6), 0);
  EXPECT_EQ(Text("a", handle), "after!");
  ASSERT_TRUE(Write(handle, 2, "--").ok());
  EXPECT_EQ(Text("a", handle), "af--r!");
}

TEST_F(TensorStoreTest, WritesStayInPlaceWhileNobodyReads) {
  const std::string handle = CreateText("a", "before");
  const std::byte* const data = Snapshot("a", handle).get();
  ASSERT_TRUE(Write(handle, 0, "after!").ok());
  EXPECT_EQ(Snapshot("a", handle).get(), data);
}

TEST_F(TensorStoreTest, ResultsReplaceTheContent) {
  const std::string handle = CreateText("a", "before");
  const auto snapshot = Snapshot("a", handle);
  HostBuffer result = buffers_.Take(6);
  std::memcpy(result.data(), "result", 6);
  const std::byte* const data = result.data();
  EXPECT_TRUE((*store_.Find("a", handle))->Replace(std::move(result)).ok());
  EXPECT_EQ(Text("a", handle), "result");
  EXPECT_EQ(Snapshot("a", handle).get(), data);
  EXPECT_EQ(std::memcmp(snapshot.get(), "before", 6), 0);
}

TEST_F(TensorStoreTest, DeletedTensorsLiveOnForTheirUsers) {
  const std::string handle = CreateText("a", "hello");
  const auto tensor = *store_.Find("a", handle);
  const auto snapshot = tensor->Snapshot().data;
  const absl::string_view handles[] = {handle, "none", handle};
  EXPECT_EQ(store_.Delete("a", handles), 1);
  EXPECT_FALSE(Has("a", handle));
  EXPECT_EQ(std::memcmp(snapshot.get(), "hello", 5), 0);
  EXPECT_TRUE(tensor->Replace(buffers_.Take(5)).ok());
  EXPECT_EQ(std::memcmp(snapshot.get(), "hello", 5), 0);
}

TEST_F(TensorStoreTest, ForeignTensorsAreLikeNone) {
  const std::string handle = CreateText("a", "secret");
  const absl::Status foreign = store_.Find("b", handle).status();
  EXPECT_EQ(ReasonOf(foreign), "TENSOR_NOT_FOUND");
  const absl::string_view handles[] = {handle};
  EXPECT_EQ(store_.Delete("a", handles), 1);
  EXPECT_EQ(store_.Find("b", handle).status(), foreign);

  const std::string other = CreateText("a", "secret");
  const absl::string_view others[] = {other};
  EXPECT_EQ(store_.Delete("b", others), 0);
  EXPECT_EQ(ReasonOf(store_.Renew("b", others, seconds(1)).status()), "TENSOR_NOT_FOUND");
  EXPECT_EQ(ReasonOf(store_.Write("b", other, 0, 1, Filler("x"))), "TENSOR_NOT_FOUND");
  EXPECT_TRUE(store_.List("b").tensors.empty());
  EXPECT_EQ(Text("a", other), "secret");
}

TEST_F(TensorStoreTest, LeasesEnd) {
  const std::string handle = CreateText("a", "hello");
  clock_.Advance(seconds(10) - std::chrono::nanoseconds(1));
  EXPECT_TRUE(Has("a", handle));
  clock_.Advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(ReasonOf(store_.Find("a", handle).status()), "TENSOR_NOT_FOUND");
  EXPECT_EQ(store_.bytes(), 0);
}

TEST_F(TensorStoreTest, LeasesAreGrantedUpToTheLongest) {
  EXPECT_EQ(store_.Create("a", {.desc = Bytes(1)})->ttl, seconds(10));
  EXPECT_EQ(store_.Create("a", {.desc = Bytes(1), .ttl = seconds(7)})->ttl, seconds(7));
  EXPECT_EQ(store_.Create("a", {.desc = Bytes(1), .ttl = seconds(101)})->ttl, seconds(100));
  EXPECT_EQ(*store_.Renew("a", {}, seconds(101)), seconds(100));
  EXPECT_EQ(*store_.Renew("a", {}, seconds(0)), seconds(10));
}

TEST_F(TensorStoreTest, RenewalExtendsLeases) {
  const std::string kept = CreateText("a", "kept");
  const std::string lost = CreateText("a", "lost");
  clock_.Advance(seconds(9));
  const absl::string_view handles[] = {"none", kept, "nor this"};
  const absl::Status status = store_.Renew("a", handles, seconds(50)).status();
  EXPECT_EQ(ReasonOf(status), "TENSOR_NOT_FOUND");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"none\""));
  clock_.Advance(seconds(49));
  EXPECT_TRUE(Has("a", kept));
  EXPECT_FALSE(Has("a", lost));
  clock_.Advance(seconds(1));
  EXPECT_FALSE(Has("a", kept));
}

TEST_F(TensorStoreTest, ALeaseCanBeShortened) {
  const std::string handle = CreateText("a", "hello");
  const absl::string_view handles[] = {handle};
  ASSERT_TRUE(store_.Renew("a", handles, seconds(2)).ok());
  clock_.Advance(seconds(2));
  EXPECT_FALSE(Has("a", handle));
}

TEST_F(TensorStoreTest, SweepTellsWhenToComeAgain) {
  EXPECT_EQ(store_.Sweep(), Clock::kNever);
  Create("a", {.desc = Bytes(100), .ttl = seconds(5)});
  Create("b", {.desc = Bytes(100), .ttl = seconds(8)});
  const Clock::TimePoint start = clock_.Now();
  EXPECT_EQ(store_.Sweep(), start + seconds(5));
  clock_.Advance(seconds(5));
  EXPECT_EQ(store_.Sweep(), start + seconds(8));
  EXPECT_EQ(store_.bytes(), TensorCharge(100));
  clock_.Advance(seconds(3));
  EXPECT_EQ(store_.Sweep(), Clock::kNever);
  EXPECT_EQ(store_.bytes(), 0);
}

TEST_F(TensorStoreTest, BoundsBytesOfAClient) {
  const std::string handle = Create("a", {.desc = Bytes(640 * kKiB)});
  const absl::Status status = store_.Create("a", {.desc = Bytes(384 * kKiB + 1)}).status();
  EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
  EXPECT_TRUE(MayRetry(status));
  Create("a", {.desc = Bytes(384 * kKiB)});
  EXPECT_EQ(ReasonOf(store_.Create("a", {.desc = Bytes(1)}).status()), "TENSOR_QUOTA");
  EXPECT_EQ(Delete("a", handle), 1);
  Create("a", {.desc = Bytes(640 * kKiB)});
}

TEST_F(TensorStoreTest, BoundsBytesOfAll) {
  Create("a", {.desc = Bytes(1024 * kKiB)});
  EXPECT_EQ(ReasonOf(store_.Create("b", {.desc = Bytes(640 * kKiB)}).status()), "TENSOR_QUOTA");
  Create("b", {.desc = Bytes(512 * kKiB)});
  clock_.Advance(seconds(10));
  Create("b", {.desc = Bytes(1024 * kKiB)});
}

TEST_F(TensorStoreTest, BoundsTensorsOfAClient) {
  for (int i = 0; i < 5; ++i) Create("a", {.desc = Bytes(1)});
  EXPECT_EQ(ReasonOf(store_.Create("a", {.desc = Bytes(1)}).status()), "TENSOR_QUOTA");
  Create("b", {.desc = Bytes(1)});
}

TEST_F(TensorStoreTest, BoundsTensorsOfAll) {
  for (const char* client : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) Create(client, {.desc = Bytes(1)});
  }
  const absl::Status status = store_.Create("c", {.desc = Bytes(1)}).status();
  EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
  EXPECT_THAT(std::string(status.message()), HasSubstr("The server has"));
  clock_.Advance(seconds(10));
  Create("c", {.desc = Bytes(1)});
}

TEST_F(TensorStoreTest, AnIdentityHasItsLimitsInAllOfItsNames) {
  const TensorHolder share = {"i", 2 * TensorCharge(1), 3};
  ASSERT_TRUE(store_.Create("i/a", {.desc = Bytes(1)}, share).ok());
  const auto second = store_.Create("i/b", {.desc = Bytes(1)}, share);
  ASSERT_TRUE(second.ok());
  const absl::Status status = store_.Create("i/c", {.desc = Bytes(1)}, share).status();
  EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
  EXPECT_TRUE(MayRetry(status));
  // Another identity has what is left by the server.
  Create("j", {.desc = Bytes(1)});
  EXPECT_EQ(Delete("i/b", second->handle), 1);
  EXPECT_TRUE(store_.Create("i/c", {.desc = Bytes(1)}, share).ok());
}

TEST_F(TensorStoreTest, AnIdentityMayHaveMoreThanAClient) {
  const TensorHolder share = {"i", 3 * TensorCharge(512 * kKiB), 7};
  ASSERT_TRUE(store_.Create("i/a", {.desc = Bytes(1280 * kKiB)}, share).ok());
  EXPECT_EQ(ReasonOf(store_.Create("i/b", {.desc = Bytes(1280 * kKiB)}, share).status()),
            "TENSOR_QUOTA");
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(store_.Create("i/a", {.desc = Bytes(1)}, share).ok());
  const absl::Status status = store_.Create("i/b", {.desc = Bytes(1)}, share).status();
  EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
  EXPECT_THAT(std::string(status.message()), HasSubstr("(7)"));
}

TEST_F(TensorStoreTest, WhatIsStillReadCountsForTheIdentity) {
  const TensorHolder share = {"a", 2 * TensorCharge(1), 5};
  const auto created =
      store_.Create("a", {.desc = Bytes(1), .fill = [](std::byte* to) { *to = {}; }}, share);
  ASSERT_TRUE(created.ok());
  const auto snapshot = Snapshot("a", created->handle);
  EXPECT_TRUE(Write(created->handle, 0, "x").ok());
  const auto later = Snapshot("a", created->handle);
  EXPECT_EQ(ReasonOf(Write(created->handle, 0, "y")), "TENSOR_QUOTA");
}

TEST_F(TensorStoreTest, NothingIsWrittenBeyondTheQuota) {
  bool is_called = false;
  const NewTensor tensor{.desc = Bytes(2048 * kKiB), .fill = [&](std::byte*) { is_called = true; }};
  EXPECT_EQ(ReasonOf(store_.Create("a", tensor).status()), "TENSOR_QUOTA");
  EXPECT_FALSE(is_called);
}

TEST_F(TensorStoreTest, RefusesLongLabels) {
  const auto refused = store_.Create("a", {.desc = Bytes(1), .label = std::string(129, 'x')});
  EXPECT_EQ(ReasonOf(refused.status()), "INVALID_REQUEST");
  Create("a", {.desc = Bytes(1), .label = std::string(128, 'x')});
}

TEST_F(TensorStoreTest, ListsTheTensorsOfAClientOldestFirst) {
  const std::string first = Create("a", {.desc = Bytes(3), .label = "one", .ttl = seconds(20)});
  CreateText("b", "foreign");
  const std::string second = CreateText("a", "1234");
  clock_.Advance(seconds(1));
  const TensorList list = store_.List("a");
  ASSERT_EQ(list.tensors.size(), 2);
  EXPECT_EQ(list.bytes, TensorCharge(3) + TensorCharge(4));
  EXPECT_EQ(list.tensors[0].handle, first);
  EXPECT_EQ(list.tensors[0].label, "one");
  EXPECT_EQ(list.tensors[0].left, seconds(19));
  EXPECT_EQ(list.tensors[1].handle, second);
  EXPECT_EQ(list.tensors[1].bytes, 4);
  EXPECT_EQ(list.tensors[1].desc, Bytes(4));
}

TEST_F(TensorStoreTest, APayloadMustHaveItsDigest) {
  const auto refused =
      store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hellO"), .fill = Filler("hello")});
  EXPECT_EQ(ReasonOf(refused.status()), "INVALID_REQUEST");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("sha256"));
  EXPECT_EQ(store_.bytes(), 0);
  EXPECT_TRUE(store_.List("a").tensors.empty());
}

TEST_F(TensorStoreTest, KnownContentIsSharedNotSentAgain) {
  const std::string first = CreateHashed("a", "hello");
  const auto second = store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hello")});
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->has_content);
  EXPECT_EQ(Text("a", second->handle), "hello");
  EXPECT_EQ(Snapshot("a", first).get(), Snapshot("a", second->handle).get());
  const std::string third = CreateHashed("a", "hello");
  EXPECT_EQ(Snapshot("a", first).get(), Snapshot("a", third).get());
  EXPECT_EQ(store_.bytes(), 3 * TensorCharge(5));
}

TEST_F(TensorStoreTest, SharedContentIsCopiedBeforeItIsWritten) {
  const std::string first = CreateHashed("a", "hello");
  const std::string second = CreateHashed("a", "hello");
  ASSERT_TRUE(Write(first, 0, "J").ok());
  EXPECT_EQ(Text("a", first), "Jello");
  EXPECT_EQ(Text("a", second), "hello");
  // Also where only one tensor is left: its digest must stay true.
  const absl::string_view handles[] = {first};
  store_.Delete("a", handles);
  ASSERT_TRUE(Write(second, 0, "C").ok());
  EXPECT_FALSE(store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hello")})->has_content);
}

TEST_F(TensorStoreTest, UnknownDigestsAreSaidToBe) {
  const auto created = store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hello")});
  ASSERT_TRUE(created.ok());
  EXPECT_FALSE(created->has_content);
  EXPECT_EQ(Text("a", created->handle), std::string(5, '\0'));
  EXPECT_TRUE(store_.Create("a", {.desc = Bytes(5)})->has_content);
}

TEST_F(TensorStoreTest, DigestsOfOtherClientsAreUnknown) {
  CreateHashed("a", "hello");
  EXPECT_FALSE(store_.Create("b", {.desc = Bytes(5), .digest = DigestOf("hello")})->has_content);
}

TEST_F(TensorStoreTest, DigestsOfOtherLengthsAreUnknown) {
  CreateHashed("a", "hello");
  EXPECT_FALSE(store_.Create("a", {.desc = Bytes(6), .digest = DigestOf("hello")})->has_content);
}

TEST_F(TensorStoreTest, DeletedContentIsUnknown) {
  const std::string handle = CreateHashed("a", "hello");
  CreateText("a", "other");
  const absl::string_view handles[] = {handle};
  store_.Delete("a", handles);
  EXPECT_FALSE(store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hello")})->has_content);
}

TEST_F(TensorStoreTest, ContentWrittenAsAnnouncedIsKnown) {
  const auto announced = store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hello")});
  ASSERT_TRUE(Write(announced->handle, 0, "he").ok());
  ASSERT_TRUE(Write(announced->handle, 2, "llo").ok());
  const auto second = store_.Create("a", {.desc = Bytes(5), .digest = DigestOf("hello")});
  EXPECT_TRUE(second->has_content);
  EXPECT_EQ(Text("a", second->handle), "hello");
}

TEST_F(TensorStoreTest, ContentWrittenOtherwiseIsNot) {
  const NewTensor announced{.desc = Bytes(5), .digest = DigestOf("hello")};
  const std::string wrong = Create("a", announced);
  ASSERT_TRUE(Write(wrong, 0, "hellO").ok());
  const std::string overwritten = Create("a", announced);
  ASSERT_TRUE(Write(overwritten, 0, "hel").ok());
  ASSERT_TRUE(Write(overwritten, 0, "J").ok());
  ASSERT_TRUE(Write(overwritten, 3, "lo").ok());
  const std::string unordered = Create("a", announced);
  ASSERT_TRUE(Write(unordered, 2, "llo").ok());
  ASSERT_TRUE(Write(unordered, 0, "he").ok());
  EXPECT_FALSE(store_.Create("a", announced)->has_content);
  EXPECT_EQ(Text("a", unordered), "hello");
}

TEST_F(TensorStoreTest, CountsBytesByDevice) {
  const std::string first = Create("a", {.desc = Bytes(5), .device = "gpu/0"});
  Create("b", {.desc = Bytes(6), .device = "gpu/0"});
  Create("a", {.desc = Bytes(7), .device = "gpu/1"});
  Create("a", {.desc = Bytes(8)});
  EXPECT_EQ(store_.BytesOn("gpu/0"), 11);
  EXPECT_EQ(store_.BytesOn("gpu/1"), 7);
  EXPECT_EQ(store_.BytesOn("gpu/2"), 0);
  EXPECT_EQ(store_.List("a").tensors[0].device, "gpu/0");
  EXPECT_EQ(store_.List("a").tensors[2].device, "");
  const absl::string_view handles[] = {first};
  store_.Delete("a", handles);
  EXPECT_EQ(store_.BytesOn("gpu/0"), 6);
  // Nothing is left of one that was refused.
  EXPECT_FALSE(store_
                   .Create("a", {.desc = Bytes(5),
                                 .device = "gpu/0",
                                 .digest = DigestOf("hello"),
                                 .fill = Filler("hellO")})
                   .ok());
  EXPECT_EQ(store_.BytesOn("gpu/0"), 6);
}

TEST_F(TensorStoreTest, KnowsWhoHasTensorsOnDevices) {
  Create("a", {.desc = Bytes(8)});
  EXPECT_FALSE(store_.HasPlaced("a"));
  const std::string placed = Create("a", {.desc = Bytes(5), .device = "gpu/0"});
  EXPECT_TRUE(store_.HasPlaced("a"));
  EXPECT_FALSE(store_.HasPlaced("b"));
  const absl::string_view handles[] = {placed};
  store_.Delete("a", handles);
  EXPECT_FALSE(store_.HasPlaced("a"));
}

// Each of two threads writes its own letter everywhere, while others look.
TEST_F(TensorStoreTest, NobodySeesHalfAWrite) {
  const std::string handle = CreateText("a", std::string(1000, 'x'));
  const auto tensor = *store_.Find("a", handle);
  std::vector<std::thread> threads;
  for (const char letter : {'y', 'z'}) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(Write(handle, 0, std::string(1000, letter)).ok());
        if (i % 10 == 0) {
          HostBuffer result = buffers_.Take(1000);
          std::memset(result.data(), letter, 1000);
          EXPECT_TRUE(tensor->Replace(std::move(result)).ok());
        }
      }
    });
  }
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto snapshot = tensor->Snapshot().data;
        EXPECT_EQ(std::memcmp(snapshot.get(), snapshot.get() + 1, 999), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TensorStoreTest, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (const std::string client : {"a", "b", "c"}) {
    threads.emplace_back([&, client] {
      for (int i = 0; i < 100; ++i) {
        const std::string handle = CreateHashed(client, "hello");
        EXPECT_EQ(Text(client, handle), "hello");
        EXPECT_TRUE(store_.Write(client, handle, 0, 1, Filler("J")).ok());
        EXPECT_EQ(store_.List(client).tensors.size(), 1);
        const absl::string_view handles[] = {handle};
        EXPECT_EQ(store_.Delete(client, handles), 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_.bytes(), 0);
}

}  // namespace
}  // namespace opserve::testing
