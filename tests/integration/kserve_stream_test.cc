// ModelStreamInfer: requests of one stream run side by side, and are answered in their order.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "inference/inference_service.pb.h"
#include "server/kserve/infer_stream.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

class KserveStreamTest : public ::testing::Test {
 protected:
  static constexpr char kMethod[] = "/inference.GRPCInferenceService/ModelStreamInfer";

  explicit KserveStreamTest(ServerOptions options = {}) {
    options.kserve = true;
    options.workers = 4;
    server_ = std::make_unique<TestServer>(options, ServerEnvironment{.cpu = Borrow(device_)});
  }

  // ABS of so many numbers, each of which is the request's id; one that is repeated is sent once.
  static std::string Request(int number, const std::string& model = "element_wise_abs",
                             uint32_t count = 1, bool is_repeated = false) {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    request.set_id(std::to_string(number));
    auto& input = *request.add_inputs();
    input.set_name("InputTensor");
    input.set_datatype("FP32");
    input.add_shape(count);
    if (is_repeated) (*input.mutable_parameters())["strides"].set_string_param("0");
    const std::vector<float> values(is_repeated ? 1 : count, -static_cast<float>(number));
    request.add_raw_input_contents(values.data(), values.size() * sizeof(float));
    return request.SerializeAsString();
  }

  // The next answer must be that of Request(number), or an error of that with `error` in it.
  static void ExpectAnswer(RawStream& stream, int number, const std::string& error = "",
                           uint32_t count = 1) {
    SCOPED_TRACE(number);
    const std::optional<std::string> message = stream.Read();
    ASSERT_TRUE(message);
    inference::ModelStreamInferResponse response;
    ASSERT_TRUE(response.ParseFromString(*message));
    EXPECT_EQ(response.infer_response().id(), std::to_string(number));
    EXPECT_THAT(response.error_message(), HasSubstr(error));
    if (!error.empty()) return;
    ASSERT_EQ(response.infer_response().raw_output_contents_size(), 1) << response.error_message();
    EXPECT_EQ(ValuesOf<float>(response.infer_response().raw_output_contents(0)),
              std::vector<float>(count, static_cast<float>(number)));
  }

  // `first` is all that is read of a stream, although more requests come, until it is answered.
  void ExpectFirstAlone(const std::string& first, uint32_t count) {
    RawStream stream(server_->channel(), kMethod);
    {
      const GateCloser closer(device_);
      ASSERT_TRUE(stream.Write(first));
      for (int number = 2; number <= 4; ++number) ASSERT_TRUE(stream.Write(Request(number)));
      EXPECT_TRUE(server_->WaitForRequests(1));
      // What else would be read comes over the same connection, and before this call.
      EXPECT_TRUE(CallByName(server_->channel(), "/inference.GRPCInferenceService/ServerLive", "")
                      .first.ok());
      EXPECT_TRUE(server_->WaitForRequests(1));
    }
    ExpectAnswer(stream, 1, "", count);
    for (int number = 2; number <= 4; ++number) ExpectAnswer(stream, number);
    ExpectEnd(stream);
  }

  // Nothing is asked for any more, and no answer is left.
  static void ExpectEnd(RawStream& stream) {
    stream.WritesDone();
    EXPECT_FALSE(stream.Read());
    EXPECT_TRUE(stream.Finish().ok());
  }

  GatedDevice device_;
  std::unique_ptr<TestServer> server_;
};

TEST_F(KserveStreamTest, RequestsRunSideBySide) {
  RawStream stream(server_->channel(), kMethod);
  {
    const GateCloser closer(device_);
    for (int number = 1; number <= 4; ++number) ASSERT_TRUE(stream.Write(Request(number)));
    EXPECT_TRUE(server_->WaitForRequests(4));
    EXPECT_TRUE(device_.WaitForHeld(1));
  }
  stream.WritesDone();
  for (int number = 1; number <= 4; ++number) ExpectAnswer(stream, number);
  EXPECT_FALSE(stream.Read());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_TRUE(server_->WaitForRequests(0));
}

// What is refused at once, and what is computed while the first request is held back.
TEST_F(KserveStreamTest, NoAnswerOvertakesAnother) {
  RawStream stream(server_->channel(), kMethod);
  {
    const GateCloser closer(device_);
    ASSERT_TRUE(stream.Write(Request(1)));
    ASSERT_TRUE(device_.WaitForHeld(1));
    ASSERT_TRUE(stream.Write(Request(2, "nonsense")));
    ASSERT_TRUE(stream.Write(Request(3)));
    ASSERT_TRUE(server_->WaitForRequests(2));
  }
  ExpectAnswer(stream, 1);
  ExpectAnswer(stream, 2, "There is no operator \"NONSENSE\"");
  ExpectAnswer(stream, 3);
  // The stream goes on.
  ASSERT_TRUE(stream.Write(Request(4)));
  ExpectAnswer(stream, 4);
  ExpectEnd(stream);
}

// However much a client sends, so many requests are taken at a time; none is refused for it.
TEST_F(KserveStreamTest, TakesAFewRequestsAtATime) {
  constexpr int kMost = kMaxInferStreamRequests;
  constexpr int kCount = 3 * kMost;
  RawStream stream(server_->channel(), kMethod);
  {
    const GateCloser closer(device_);
    for (int number = 1; number <= kCount; ++number) ASSERT_TRUE(stream.Write(Request(number)));
    EXPECT_TRUE(server_->WaitForRequests(kMost));
    // What else would be read comes over the same connection, and before this call.
    EXPECT_TRUE(CallByName(server_->channel(), "/inference.GRPCInferenceService/ServerLive", "")
                    .first.ok());
    EXPECT_TRUE(server_->WaitForRequests(kMost));
  }
  for (int number = 1; number <= kCount; ++number) ExpectAnswer(stream, number);
  ExpectEnd(stream);
}

TEST_F(KserveStreamTest, TakesNoMoreBesideManyBytes) {
  constexpr uint32_t kCount = kMaxInferStreamBytes / sizeof(float) + 1;
  ExpectFirstAlone(Request(1, "element_wise_abs", kCount), kCount);
}

// The message is short, what the request holds is not.
TEST_F(KserveStreamTest, TakesNoMoreBesideManyBytesOfResults) {
  constexpr uint32_t kCount = kMaxInferStreamBytes / sizeof(float);
  ExpectFirstAlone(Request(1, "element_wise_abs", kCount, /*is_repeated=*/true), kCount);
}

class KserveSmallStreamTest : public KserveStreamTest {
 protected:
  static constexpr uint64_t kMaxBytes = 64 << 10;
  // So many take all of the stream's bytes.
  static constexpr uint32_t kCount = kMaxBytes / sizeof(float);

  KserveSmallStreamTest() : KserveStreamTest(Options()) {}

  static ServerOptions Options() {
    ServerOptions options;
    options.max_stream_bytes = kMaxBytes;
    options.admission.max_bytes_per_client = 4 * kMaxBytes;
    return options;
  }
};

// One that holds more by itself is computed, too.
TEST_F(KserveSmallStreamTest, TakesNoMoreBesideTheBytesOfTheSetting) {
  ExpectFirstAlone(Request(1, "element_wise_abs", 2 * kCount, /*is_repeated=*/true), 2 * kCount);
}

// Together they would be more than a client may hold.
TEST_F(KserveSmallStreamTest, RefusesNoneForWhatOthersOfItHold) {
  constexpr int kRequests = kMaxInferStreamRequests;
  RawStream stream(server_->channel(), kMethod);
  {
    const GateCloser closer(device_);
    for (int number = 1; number <= kRequests; ++number) {
      ASSERT_TRUE(stream.Write(Request(number, "element_wise_abs", kCount, /*is_repeated=*/true)));
    }
    EXPECT_TRUE(server_->WaitForRequests(1));
  }
  for (int number = 1; number <= kRequests; ++number) ExpectAnswer(stream, number, "", kCount);
  ExpectEnd(stream);
}

// What is refused holds its message alone, and leaves nothing behind.
TEST_F(KserveSmallStreamTest, ReadsOnAfterRefusals) {
  RawStream stream(server_->channel(), kMethod);
  for (int number = 1; number <= 3; ++number) {
    ASSERT_TRUE(stream.Write(Request(number, "nonsense", 2 * kCount, number == 2)));
  }
  for (int number = 1; number <= 3; ++number) ExpectAnswer(stream, number, "NONSENSE");
  ASSERT_TRUE(stream.Write(Request(4)));
  ExpectAnswer(stream, 4);
  ExpectEnd(stream);
}

TEST_F(KserveStreamTest, WhatABrokenStreamAskedForIsGivenUp) {
  {
    const GateCloser closer(device_);
    {
      RawStream stream(server_->channel(), kMethod);
      for (int number = 1; number <= 8; ++number) ASSERT_TRUE(stream.Write(Request(number)));
      ASSERT_TRUE(server_->WaitForRequests(8));
    }
    // Those that the device has not begun are gone at once.
    EXPECT_TRUE(device_.WaitForHeld(1));
  }
  EXPECT_TRUE(server_->WaitForRequests(0));
}

}  // namespace
}  // namespace opserve::testing
