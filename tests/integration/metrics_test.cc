// The numbers that a server tells after calls that the test knows.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "inference/inference_service.pb.h"
#include "kernels/op_table.h"
#include "nlohmann/json.hpp"
#include "tests/integration/http_page.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/test_server.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Matches;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

ServerOptions WithMetrics() {
  ServerOptions options;
  options.metrics_listen = "127.0.0.1:0";
  return options;
}

// The lines of the values of a metric, without its name. Where the name of the processor stands, is
// "cpu".
std::vector<std::string> ScrapeLines(TestServer& server, const std::string& name) {
  const std::string cpu = [&] {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(server.stub().GetServerInfo(&context, {}, &info).ok());
    return info.devices(0).name();
  }();
  std::vector<std::string> found;
  for (absl::string_view line :
       absl::StrSplit(GetPage(server.server().metrics_address(), "/metrics"), '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    if (line.empty() || (line[0] != '{' && line[0] != ' ')) continue;
    found.push_back(absl::StrReplaceAll(line, {{cpu, "cpu"}}));
  }
  return found;
}

// Waits until the metric has the line: that an answer has left, the server learns last of all.
// False after a minute.
bool WaitForLine(TestServer& server, const std::string& name, const std::string& line) {
  return WaitUntil([&] { return Matches(Contains(line))(ScrapeLines(server, name)); });
}

grpc::Status RunSequence(TestServer& server, const v1::ExecuteSequenceRequest& request) {
  grpc::ClientContext context;
  v1::ExecuteSequenceResponse response;
  return server.stub().ExecuteSequence(&context, request, &response);
}

// Every way in which a request can end that a test can bring about at will.
void MakeKnownCalls(TestServer& server) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(server.Execute(RoundRequest({1, 2})).status.ok());
  v1::ExecuteRequest wrong_mode = RoundRequest({1});
  wrong_mode.clear_attributes();
  EXPECT_EQ(ReasonOf(server.Execute(wrong_mode).status), "INVALID_REQUEST");
  v1::ExecuteRequest unknown = RoundRequest({1});
  unknown.set_operator_("ELEMENT_WISE_ROUMD");
  EXPECT_EQ(ReasonOf(server.Execute(unknown).status), "OPERATOR_NOT_FOUND");
  EXPECT_TRUE(RunSequence(server, ChoiceRequest({1, 2})).ok());
  EXPECT_EQ(ReasonOf(RunSequence(server, {})), "INVALID_REQUEST");
  grpc::ClientContext context;
  v1::ListOperatorsResponse operators;
  v1::ListOperatorsRequest too_large;
  too_large.set_feature_level(std::string(1 << 17, 'x'));
  EXPECT_EQ(ReasonOf(server.stub().ListOperators(&context, too_large, &operators)),
            "REQUEST_TOO_LARGE");
}

TEST(MetricsTest, CountsEveryCallOnce) {
  TestServer server(WithMetrics());
  MakeKnownCalls(server);
  EXPECT_THAT(
      ScrapeLines(server, "opserve_requests_total"),
      UnorderedElementsAre(
          R"({operator="ELEMENT_WISE_ROUND",type="FLOAT32",device="cpu",code="OK"} 3)",
          R"({operator="ELEMENT_WISE_ROUND",type="none",device="none",code="INVALID_ARGUMENT"} 1)",
          R"({operator="none",type="none",device="none",code="NOT_FOUND"} 1)",
          R"({operator="sequence",type="none",device="cpu",code="OK"} 1)",
          R"({operator="sequence",type="none",device="none",code="INVALID_ARGUMENT"} 1)"));
  // GetServerInfo is what ScrapeLines calls.
  EXPECT_THAT(ScrapeLines(server, "opserve_calls_total"),
              UnorderedElementsAre(R"({method="Execute",code="OK"} 3)",
                                   R"({method="Execute",code="INVALID_ARGUMENT"} 1)",
                                   R"({method="Execute",code="NOT_FOUND"} 1)",
                                   R"({method="ExecuteSequence",code="OK"} 1)",
                                   R"({method="ExecuteSequence",code="INVALID_ARGUMENT"} 1)",
                                   R"({method="ListOperators",code="RESOURCE_EXHAUSTED"} 1)",
                                   R"({method="GetServerInfo",code="OK"} 2)"));
  const std::vector<std::string> errors = ScrapeLines(server, "opserve_errors_total");
  EXPECT_EQ(errors.size(), std::size(kAllErrorReasons) + 1);
  EXPECT_THAT(errors, Contains(R"({reason="INVALID_REQUEST"} 2)"));
  EXPECT_THAT(errors, Contains(R"({reason="OPERATOR_NOT_FOUND"} 1)"));
  EXPECT_THAT(errors, Contains(R"({reason="REQUEST_TOO_LARGE"} 1)"));
  EXPECT_THAT(errors, Contains(R"({reason="none"} 0)"));
  EXPECT_THAT(ScrapeLines(server, "opserve_request_run_seconds_count"),
              UnorderedElementsAre(R"({operator="ELEMENT_WISE_ROUND",device="cpu"} 3)",
                                   R"({operator="sequence",device="cpu"} 1)"));
  EXPECT_THAT(ScrapeLines(server, "opserve_device_requests_total"),
              ElementsAre(R"({device="cpu"} 4)"));
  EXPECT_THAT(ScrapeLines(server, "opserve_device_batch_requests_count"),
              ElementsAre(R"({device="cpu"} 4)"));
}

TEST(MetricsTest, CountsTheBytesOfMessages) {
  TestServer server(WithMetrics());
  const v1::ExecuteRequest request = RoundRequest({1, 2, 3});
  const Answer answer = server.Execute(request);
  ASSERT_TRUE(answer.status.ok());
  EXPECT_THAT(ScrapeLines(server, "opserve_received_bytes_total"),
              Contains(absl::StrCat(R"({method="Execute"} )", request.ByteSizeLong())));
  EXPECT_THAT(ScrapeLines(server, "opserve_sent_bytes_total"),
              Contains(absl::StrCat(R"({method="Execute"} )", answer.response.ByteSizeLong())));
}

// What a request announces and does not send is not counted.
TEST(MetricsTest, CountsTheBytesOfAStreamThatCame) {
  TestServer server(WithMetrics());
  grpc::ClientContext context;
  const auto stream = server.stub().ExecuteStream(&context);
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  message.mutable_request()->set_operator_("NO_SUCH_OPERATOR");
  message.add_payload_bytes(uint64_t{1} << 62);
  ASSERT_TRUE(stream->Write(message));
  v1::ExecuteStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_FALSE(answer.error().empty());
  stream->WritesDone();
  while (stream->Read(&answer)) continue;
  stream->Finish().IgnoreError();
  EXPECT_THAT(ScrapeLines(server, "opserve_received_bytes_total"),
              Contains(absl::StrCat(R"({method="ExecuteStream"} )", message.ByteSizeLong())));
}

TEST(MetricsTest, TellsHowLongTransfersTake) {
  TestServer server(WithMetrics());
  MakeKnownCalls(server);
  // Three, two that are wrong, two sequences, one that is too large, and ScrapeLines' own.
  EXPECT_THAT(ScrapeLines(server, "opserve_receive_seconds_count"),
              UnorderedElementsAre(R"({of="message"} 9)", R"({of="stream_request"} 0)"));
  for (const char* const line : {R"({method="Execute"} 5)", R"({method="ExecuteSequence"} 2)",
                                 R"({method="ListOperators"} 1)"}) {
    EXPECT_TRUE(WaitForLine(server, "opserve_send_seconds_count", line)) << line;
  }
}

// Of a request in pieces the time is that between them, and what it took afterwards begins there.
TEST(MetricsTest, TellsHowLongAStreamsRequestTakesToCome) {
  TestServer server(WithMetrics());
  grpc::ClientContext context;
  const auto stream = server.stub().ExecuteStream(&context);
  v1::ExecuteRequest request = RoundRequest({1, 2});
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  message.add_payload_bytes(request.payloads(0).size());
  const std::string payload = request.payloads(0);
  request.clear_payloads();
  *message.mutable_request() = std::move(request);
  ASSERT_TRUE(stream->Write(message));
  v1::ExecuteStreamRequest piece;
  piece.set_id(1);
  piece.add_payloads(payload);
  ASSERT_TRUE(stream->Write(piece));
  v1::ExecuteStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  stream->WritesDone();
  while (stream->Read(&answer)) continue;
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_THAT(ScrapeLines(server, "opserve_receive_seconds_count"),
              Contains(R"({of="stream_request"} 1)"));
  EXPECT_TRUE(WaitForLine(server, "opserve_send_seconds_count", R"({method="ExecuteStream"} 1)"));
}

// Refusals are answers of such a stream, too.
TEST(MetricsTest, TellsHowLongAnswersOfKserveTakeToLeave) {
  ServerOptions options = WithMetrics();
  options.kserve = true;
  TestServer server(options);
  const std::string service = "/inference.GRPCInferenceService/";
  inference::ModelInferRequest request;
  request.set_model_name("element_wise_abs");
  auto& input = *request.add_inputs();
  input.set_name("InputTensor");
  input.set_datatype("INT8");
  input.add_shape(1);
  request.add_raw_input_contents("x");
  const std::string right = request.SerializeAsString();
  request.set_model_name("nonsense");
  EXPECT_TRUE(CallByName(server.channel(), service + "ModelInfer", right).first.ok());
  RawStream stream(server.channel(), service + "ModelStreamInfer");
  for (const std::string& message : {right, request.SerializeAsString(), right}) {
    ASSERT_TRUE(stream.Write(message));
    EXPECT_TRUE(stream.Read());
  }
  stream.WritesDone();
  EXPECT_FALSE(stream.Read());
  EXPECT_TRUE(stream.Finish().ok());
  for (const char* const line :
       {R"({method="ModelInfer"} 1)", R"({method="ModelStreamInfer"} 3)"}) {
    EXPECT_TRUE(WaitForLine(server, "opserve_send_seconds_count", line)) << line;
  }
}

// A stream with two requests that are answered, one that is refused, and one whose payload is cut
// off by the end of the stream, which fails for that.
TEST(MetricsTest, CountsEveryRequestOfAStreamAndItsFailure) {
  TestServer server(WithMetrics());
  grpc::ClientContext context;
  const auto stream = server.stub().ExecuteStream(&context);
  const auto send = [&](uint64_t id, v1::ExecuteRequest request, bool is_whole) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    if (is_whole) {
      message.mutable_payloads()->Swap(request.mutable_payloads());
    } else {
      for (const std::string& payload : request.payloads()) {
        message.add_payload_bytes(payload.size());
      }
      request.clear_payloads();
    }
    *message.mutable_request() = std::move(request);
    ASSERT_TRUE(stream->Write(message));
  };
  v1::ExecuteRequest invalid = RoundRequest({1});
  invalid.clear_attributes();
  v1::ExecuteStreamResponse answer;
  for (const auto& [id, request] :
       {std::pair(1, RoundRequest({1})), std::pair(2, RoundRequest({2})), std::pair(3, invalid)}) {
    send(static_cast<uint64_t>(id), request, /*is_whole=*/true);
    ASSERT_TRUE(stream->Read(&answer));
  }
  send(4, RoundRequest({4}), /*is_whole=*/false);
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(ReasonOf(stream->Finish()), "INVALID_REQUEST");
  // The third request, and the stream, which is counted once it is over.
  EXPECT_TRUE(WaitForLine(server, "opserve_calls_total",
                          R"({method="ExecuteStream",code="INVALID_ARGUMENT"} 2)"));
  EXPECT_THAT(ScrapeLines(server, "opserve_calls_total"),
              IsSupersetOf({R"({method="ExecuteStream",code="OK"} 2)",
                            R"({method="ExecuteStream",code="INVALID_ARGUMENT"} 2)",
                            R"({method="ExecuteStream",code="CANCELLED"} 1)"}));
}

TEST(MetricsTest, TellsWhoHoldsTensors) {
  TestServer server(WithMetrics());
  v1::CreateTensorRequest request;
  request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
  request.mutable_desc()->add_sizes(1024);
  // Names that clients give themselves do not show.
  for (const std::string name : {"", "a name", "another name"}) {
    grpc::ClientContext context;
    if (!name.empty()) context.AddMetadata("opserve-client", name);
    v1::CreateTensorResponse response;
    ASSERT_TRUE(server.stub().CreateTensor(&context, request, &response).ok());
  }
  EXPECT_THAT(ScrapeLines(server, "opserve_resident_tensors"), ElementsAre(" 3"));
  const std::vector<std::string> all = ScrapeLines(server, "opserve_resident_bytes");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(
      ScrapeLines(server, "opserve_client_resident_bytes"),
      ElementsAre(absl::StrCat(R"({client="127.0.0.1"})", all[0]), R"({client="other"} 0)"));
}

TEST(MetricsTest, ThePageHasAllThatItNeeds) {
  TestServer server(WithMetrics());
  const std::string page = GetPage(server.server().metrics_address(), "/");
  EXPECT_TRUE(absl::StartsWith(page, "<!DOCTYPE html>")) << page.substr(0, 100);
  EXPECT_TRUE(absl::EndsWith(page, "</html>\n"));
  // But for the names of formats, which nobody fetches.
  EXPECT_THAT(absl::StrReplaceAll(page, {{"http://www.w3.org/2000/svg", ""}}),
              AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("src="))));
}

TEST(MetricsTest, TheDataOfThePageIsThatOfTheMetrics) {
  TestServer server(WithMetrics());
  ASSERT_TRUE(server.Execute(RoundRequest({1, 2})).status.ok());
  const auto status =
      nlohmann::json::parse(GetPage(server.server().metrics_address(), "/status.json"));
  EXPECT_GT(status["time"].get<double>(), 1.7e9);
  ASSERT_EQ(status["devices"].size(), 1u);
  EXPECT_EQ(status["devices"][0]["state"], "ready");
  EXPECT_EQ(status["operators"].size(), OpTable().size());
  const auto& requests = status["metrics"]["opserve_requests_total"];
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0]["value"], 1);
  EXPECT_EQ(requests[0]["labels"]["operator"], "ELEMENT_WISE_ROUND");
  EXPECT_EQ(requests[0]["labels"]["device"], status["devices"][0]["name"]);
  const auto& times = status["metrics"]["opserve_request_duration_seconds"][0];
  EXPECT_EQ(times["count"], 1);
  EXPECT_EQ(times["buckets"].size(), 20u);
  EXPECT_TRUE(times["buckets"][19][0].is_null());
  EXPECT_EQ(times["buckets"][19][1], 1);
}

TEST(MetricsTest, AnswersOnlyWhatThereIs) {
  TestServer server(WithMetrics());
  const std::string address = server.server().metrics_address();
  EXPECT_THAT(GetPage(address, "/nothing"), HasSubstr("HTTP/1.1 404 "));
  EXPECT_THAT(AskHttp(address, "POST /metrics HTTP/1.1\r\n\r\n"), HasSubstr("HTTP/1.1 405 "));
  EXPECT_THAT(AskHttp(address, "GET /metrics HTTP/1.1\r\nx: " + std::string(9000, 'x')),
              HasSubstr("HTTP/1.1 431 "));
}

TEST(MetricsTest, AreOffByDefault) {
  TestServer server;
  EXPECT_THAT(server.server().metrics_address(), IsEmpty());
}

TEST(MetricsTest, ServerDoesNotStartWhereTheyCannotBeOffered) {
  TestServer other(WithMetrics());
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.metrics_listen = other.server().metrics_address();
  const auto server = Server::Start(options);
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()),
              HasSubstr("cannot offer metrics at 127.0.0.1:"));
}

}  // namespace
}  // namespace opserve::testing
