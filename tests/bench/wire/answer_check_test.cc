#include "tests/bench/wire/answer_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "opserve/v1/operator_service.pb.h"
#include "tests/bench/wire/calls.h"
#include "tests/bench/wire/payload.h"

namespace opserve::wire_bench {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 40000;

// A right answer of Execute.
v1::ExecuteResponse RightAnswer(const Payload& payload) {
  v1::ExecuteResponse response;
  response.mutable_output()->add_sizes(static_cast<uint32_t>(payload.size() / sizeof(float)));
  response.mutable_execution()->set_device("cpu/AVX3");
  response.mutable_payload()->assign(payload.expected().begin(), payload.expected().end());
  return response;
}

// The message in slices of `slice_bytes`.
grpc::ByteBuffer Sliced(const google::protobuf::Message& message, size_t slice_bytes) {
  const std::string bytes = message.SerializeAsString();
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += slice_bytes) {
    slices.emplace_back(bytes.substr(i, slice_bytes));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Check(const Payload& payload, const v1::ExecuteResponse& answer, Part part) {
  return std::string(MakeExecute(payload)->Check(Sliced(answer, 1000), part).message());
}

TEST(AnswerCheckTest, TakesRightAnswersHoweverTheyAreSliced) {
  const Payload payload(kBytes);
  const v1::ExecuteResponse answer = RightAnswer(payload);
  for (const size_t slice_bytes : {size_t{1}, size_t{7}, size_t{4096}, size_t{100000}}) {
    const grpc::ByteBuffer bytes = Sliced(answer, slice_bytes);
    for (const Part part : {Part{0, kBytes}, Part{0, 64}, Part{kBytes - 64, 64}, Part{12345, 64}}) {
      EXPECT_TRUE(MakeExecute(payload)->Check(bytes, part).ok()) << slice_bytes;
    }
  }
}

TEST(AnswerCheckTest, FindsOneWrongBit) {
  const Payload payload(kBytes);
  for (const size_t wrong : {size_t{0}, size_t{20000}, size_t{kBytes - 1}}) {
    v1::ExecuteResponse answer = RightAnswer(payload);
    (*answer.mutable_payload())[wrong] ^= 1;
    EXPECT_THAT(Check(payload, answer, {0, kBytes}), HasSubstr("wrong"));
    EXPECT_THAT(Check(payload, answer, {wrong, 1}), HasSubstr("wrong"));
    EXPECT_EQ(Check(payload, answer, {wrong == 0 ? 1 : wrong - 1, 1}), "");
  }
}

TEST(AnswerCheckTest, FindsWrongLengths) {
  const Payload payload(kBytes);
  v1::ExecuteResponse answer = RightAnswer(payload);
  answer.mutable_payload()->pop_back();
  EXPECT_THAT(Check(payload, answer, {0, 64}), HasSubstr("39999 bytes of payload"));
  answer.clear_payload();
  EXPECT_THAT(Check(payload, answer, {0, 64}), HasSubstr("no payload"));
}

TEST(AnswerCheckTest, FindsBytesThatAreMissingOrTooMany) {
  const Payload payload(kBytes);
  std::string bytes = RightAnswer(payload).SerializeAsString();
  const grpc::Slice cut(bytes.substr(0, bytes.size() - 1));
  const grpc::Slice longer(bytes + "x");
  for (const grpc::Slice& slice : {cut, longer}) {
    EXPECT_FALSE(MakeExecute(payload)->Check(grpc::ByteBuffer(&slice, 1), {0, 64}).ok());
  }
}

TEST(AnswerCheckTest, AnEchoIsNoRoundedTensor) {
  const Payload payload(kBytes);
  v1::ExecuteResponse echo;
  echo.mutable_payload()->assign(payload.bytes().begin(), payload.bytes().end());
  EXPECT_THAT(Check(payload, echo, {0, kBytes}), HasSubstr("wrong"));
}

TEST(PayloadTest, HoldsValuesThatAreHardToRound) {
  const Payload payload(kBytes);
  int halves = 0;
  int nans = 0;
  for (uint64_t i = 0; i < kBytes; i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, payload.bytes().data() + i, sizeof(value));
    halves += value - std::floor(value) == 0.5F ? 1 : 0;
    nans += std::isnan(value) ? 1 : 0;
  }
  EXPECT_GT(halves, 50);
  EXPECT_GT(nans, 10);
}

TEST(CallsTest, RequestsAreWhatTheGeneratedCodeWouldSend) {
  const Payload payload(kBytes);
  grpc::Slice bytes;
  ASSERT_TRUE(grpc::ByteBuffer(MakeExecute(payload)->request(0)).DumpToSingleSlice(&bytes).ok());
  v1::ExecuteRequest request;
  ASSERT_TRUE(request.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size())));
  EXPECT_EQ(request.operator_(), "ELEMENT_WISE_ROUND");
  ASSERT_EQ(request.payloads_size(), 1);
  EXPECT_EQ(request.payloads(0).size(), kBytes);
  EXPECT_EQ(request.SerializeAsString(),
            std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size()));
}

}  // namespace
}  // namespace opserve::wire_bench
