#include "tests/bench/wire/chain_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/bench/wire/chain.h"

namespace opserve::wire_bench {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kTensorBytes = 4000;

// An answer with the payload's bytes, in two slices of which the first has `first_bytes` bytes.
grpc::ByteBuffer AnswerOf(const Payload& payload, size_t first_bytes) {
  v1::ExecuteResponse response;
  response.set_request_id("a header");
  response.mutable_payload()->assign(payload.bytes().begin(), payload.bytes().end());
  const std::string bytes = response.SerializeAsString();
  const grpc::Slice slices[] = {grpc::Slice(bytes.substr(0, first_bytes)),
                                grpc::Slice(bytes.substr(first_bytes))};
  return grpc::ByteBuffer(slices, std::size(slices));
}

v1::ExecuteRequest Parsed(const grpc::ByteBuffer& message) {
  grpc::Slice slice;
  v1::ExecuteRequest request;
  if (!message.DumpToSingleSlice(&slice).ok() ||
      !request.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    ADD_FAILURE() << "no ExecuteRequest";
  }
  return request;
}

std::string TextOf(const Payload& payload) {
  return std::string(payload.bytes().begin(), payload.bytes().end());
}

TEST(ChainTest, ComputesWhatTheOperatorsDo) {
  // 499.25, 499, 198.5, 198, 97.75, 98, 6.5
  EXPECT_EQ(ThroughChain(1500), 6);
  EXPECT_EQ(ThroughChain(-1500), -6);
  EXPECT_TRUE(std::signbit(ThroughChain(-0.0F)));
}

TEST(ChainTest, EveryStepIsInTheSequence) {
  const v1::ExecuteSequenceRequest request = ChainRequest(kTensorBytes);
  ASSERT_EQ(request.steps_size(), 8);
  EXPECT_EQ(request.outputs(0).step(), 7);
  EXPECT_EQ(request.inputs_size(), 5);
  EXPECT_EQ(request.input_places_size(), 5);
  EXPECT_EQ(request.payloads_size(), 4);
  EXPECT_EQ(request.steps(6).inputs(0).step(), 5);
  EXPECT_EQ(request.steps(6).inputs(1).input(), 4);
}

TEST(CallsOfChainTest, BeginsWithThePayload) {
  const Payload payload(kTensorBytes, Work::kChain);
  const v1::ExecuteRequest request = Parsed(MakeCallsOfChain(payload)->request(0));
  EXPECT_EQ(request.operator_(), "ELEMENT_WISE_MODULUS_TRUNCATE");
  ASSERT_EQ(request.payloads_size(), 2);
  EXPECT_EQ(request.payloads(0), TextOf(payload));
  EXPECT_EQ(request.payloads(1).size(), sizeof(float));
}

TEST(CallsOfChainTest, SendsWhatCameBackWhereverItWasCut) {
  const Payload payload(kTensorBytes, Work::kChain);
  const auto calls = MakeCallsOfChain(payload);
  for (const size_t first_bytes : {size_t{3}, size_t{20}, size_t{3000}}) {
    const auto next = calls->Next(0, AnswerOf(payload, first_bytes));
    ASSERT_TRUE(next.ok() && next->has_value()) << next.status();
    const v1::ExecuteRequest request = Parsed(**next);
    EXPECT_EQ(request.operator_(), "ELEMENT_WISE_ROUND");
    ASSERT_EQ(request.payloads_size(), 1);
    EXPECT_EQ(request.payloads(0), TextOf(payload)) << first_bytes;
  }
}

TEST(CallsOfChainTest, EndsAfterTheEighth) {
  const Payload payload(kTensorBytes, Work::kChain);
  const auto calls = MakeCallsOfChain(payload);
  const grpc::ByteBuffer answer = AnswerOf(payload, 20);
  EXPECT_TRUE(calls->Next(6, answer)->has_value());
  EXPECT_FALSE(calls->Next(7, answer)->has_value());
}

TEST(CallsOfChainTest, NoticesAnswersOfAnotherLength) {
  const Payload payload(kTensorBytes, Work::kChain);
  const auto next = MakeCallsOfChain(payload)->Next(0, AnswerOf(Payload(kTensorBytes - 4), 20));
  EXPECT_THAT(std::string(next.status().message()), HasSubstr("3996 bytes of payload"));
}

TEST(PayloadTest, SpoilingChangesOneBitOfTheResult) {
  Payload payload(kTensorBytes);
  const std::string right(payload.expected().begin(), payload.expected().end());
  payload.Spoil();
  const std::string wrong(payload.expected().begin(), payload.expected().end());
  EXPECT_EQ(wrong.substr(0, kTensorBytes - 4), right.substr(0, kTensorBytes - 4));
  EXPECT_EQ(static_cast<uint8_t>(wrong[kTensorBytes - 4] ^ right[kTensorBytes - 4]), 1);
}

}  // namespace
}  // namespace opserve::wire_bench
