// Lines of the access log and of traces, to the letter.

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/journal/access_log.h"
#include "server/journal/audit_log.h"
#include "server/journal/json_line.h"
#include "server/journal/line_text.h"
#include "server/journal/trace_log.h"

namespace opserve {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Caller final : public RequestSource {
 public:
  explicit Caller(std::string client, std::string traceparent = "")
      : client_(std::move(client)), traceparent_(std::move(traceparent)) {}
  std::string client() const override { return client_; }
  std::string traceparent() const override { return traceparent_; }

 private:
  const std::string client_;
  const std::string traceparent_;
};

constexpr char kParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

RequestRecord Answered() {
  RequestRecord record;
  record.method = "Execute";
  record.request_id = "r-1";
  record.work = WorkKind::kOperator;
  record.op = OpId::ELEMENT_WISE_ROUND;
  record.type = DataType::kFloat32;
  record.bytes_in = 100;
  record.bytes_out = 60;
  record.start = Clock::TimePoint(microseconds(1000));
  record.total = microseconds(300);
  record.device = "cpu/TEST";
  record.accepted = record.start + microseconds(10);
  record.queued = microseconds(20);
  record.ran = microseconds(7);
  return record;
}

std::string AccessLine(const RequestRecord& record, const RequestSource& source, absl::Time end) {
  std::string line;
  AppendAccessLine(record, source, end, line);
  return line;
}

std::vector<std::string> SpanLines(const RequestRecord& record, const TraceContext& trace,
                                   uint64_t span_id, absl::Time end) {
  std::vector<std::string> lines;
  MakeSpanLines(record, trace, span_id, end,
                [&](absl::string_view line) { lines.emplace_back(line); });
  return lines;
}

const absl::Time kEnd = absl::FromUnixMicros(1'700'000'000'000'300);

TEST(AccessLine, TellsAllOfAnAnsweredRequest) {
  EXPECT_EQ(AccessLine(Answered(), Caller("10.0.0.7/runner-3", kParent), kEnd),
            R"({"time":"2023-11-14T22:13:20.000300Z","id":"r-1","client":"10.0.0.7/runner-3",)"
            R"("method":"Execute","operator":"ELEMENT_WISE_ROUND","type":"FLOAT32","bytes_in":100,)"
            R"("bytes_out":60,"device":"cpu/TEST","queued_us":20,"run_us":7,"total_us":300,)"
            R"("code":"OK","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"})");
}

TEST(AccessLine, LeavesOutWhatIsNotKnown) {
  RequestRecord refused;
  refused.method = "ExecuteStream";
  refused.code = absl::StatusCode::kUnavailable;
  refused.reason = ErrorReason::DRAINING;
  EXPECT_EQ(AccessLine(refused, Caller("uid:1000", "no trace"), kEnd),
            R"({"time":"2023-11-14T22:13:20.000300Z","client":"uid:1000","method":"ExecuteStream",)"
            R"("bytes_in":0,"bytes_out":0,"total_us":0,"code":"UNAVAILABLE","reason":"DRAINING"})");
}

TEST(AccessLine, CannotBeForged) {
  RequestRecord record = Answered();
  const std::string id = "x\",\"code\":\"OK\"}\n{\"id\":\"" + std::string(500, 'y');
  record.request_id = id;
  const std::string line = AccessLine(record, Caller("h/\n\x1b[2J\xff"), kEnd);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  EXPECT_THAT(line, HasSubstr(R"("id":"x\",\"code\":\"OK\"}\n{\"id\":\"yyy)"));
  EXPECT_THAT(line, HasSubstr("\\ufffd"));
  EXPECT_THAT(line, Not(HasSubstr(std::string(120, 'y'))));
}

// Members are gathered, and these are too long for that.
TEST(AccessLine, MayBeOfAnyLength) {
  RequestRecord record = Answered();
  const std::string id(kMaxLoggedIdBytes, 'i');
  const std::string client(1000, 'c');
  const std::string device = std::string(150, 'd') + "\n" + std::string(1000, 'd');
  record.request_id = id;
  record.device = device;
  record.bytes_in = record.bytes_out = UINT64_MAX;
  record.total = Clock::Duration::min();
  std::string line = "before";
  AppendAccessLine(record, Caller(client), kEnd, line);
  EXPECT_EQ(line, R"(before{"time":"2023-11-14T22:13:20.000300Z","id":")" + id + R"(","client":")" +
                      client + R"(","method":"Execute","operator":"ELEMENT_WISE_ROUND",)" +
                      R"("type":"FLOAT32","bytes_in":18446744073709551615,)" +
                      R"("bytes_out":18446744073709551615,"device":")" + std::string(150, 'd') +
                      "\\n" + std::string(1000, 'd') + R"(","queued_us":20,"run_us":7,)" +
                      R"("total_us":-9223372036854775,"code":"OK"})");
}

TEST(AuditLine, TellsWhoDidWhat) {
  EXPECT_EQ(AuditLine({.client = "token:ops",
                       .method = "SetDeviceAside",
                       .device = "gpu\n0",
                       .note = "fan",
                       .code = absl::StatusCode::kNotFound,
                       .reason = ErrorReason::INVALID_REQUEST},
                      kEnd),
            R"({"time":"2023-11-14T22:13:20.000300Z","client":"token:ops",)"
            R"("method":"SetDeviceAside","device":"gpu\n0","note":"fan","code":"NOT_FOUND",)"
            R"("reason":"INVALID_REQUEST"})");
  EXPECT_EQ(AuditLine({.client = "uid:0", .method = "EndLease", .lease = 0}, kEnd),
            R"({"time":"2023-11-14T22:13:20.000300Z","client":"uid:0","method":"EndLease",)"
            R"("lease":0,"code":"OK"})");
}

TEST(UtcText, IsRightWithinASecondAndBeyondIt) {
  EXPECT_EQ(UtcText(kEnd), "2023-11-14T22:13:20.000300Z");
  EXPECT_EQ(UtcText(kEnd + absl::Microseconds(999699)), "2023-11-14T22:13:20.999999Z");
  EXPECT_EQ(UtcText(kEnd + absl::Microseconds(999700)), "2023-11-14T22:13:21.000000Z");
  EXPECT_EQ(UtcText(kEnd), "2023-11-14T22:13:20.000300Z");
  EXPECT_EQ(UtcText(absl::UnixEpoch() - absl::Microseconds(1)), "1969-12-31T23:59:59.999999Z");
}

TEST(LineOfThread, KeepsItsRoom) {
  LineOfThread() = std::string(1000, 'x');
  EXPECT_EQ(LineOfThread(), "");
  EXPECT_GE(LineOfThread().capacity(), 1000u);
}

TEST(SpanLines, AreThoseOfTheRequestItsWaitAndItsRun) {
  EXPECT_THAT(
      SpanLines(Answered(), *ParseTraceParent(kParent), 0xfe, kEnd),
      ElementsAre(
          R"({"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00000000000000fe",)"
          R"("parent_span_id":"00f067aa0ba902b7","name":"request",)"
          R"("start_unix_ns":1700000000000000000,"end_unix_ns":1700000000000300000,)"
          R"("method":"Execute","operator":"ELEMENT_WISE_ROUND","type":"FLOAT32","code":"OK"})",
          R"({"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00000000000000ff",)"
          R"("parent_span_id":"00000000000000fe","name":"queue",)"
          R"("start_unix_ns":1700000000000010000,"end_unix_ns":1700000000000030000})",
          R"({"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"0000000000000100",)"
          R"("parent_span_id":"00000000000000fe","name":"run",)"
          R"("start_unix_ns":1700000000000030000,"end_unix_ns":1700000000000037000,)"
          R"("device":"cpu/TEST"})"));
}

TEST(SpanLines, OfARefusedRequestAreOne) {
  RequestRecord refused = Answered();
  refused.device = {};
  refused.code = absl::StatusCode::kResourceExhausted;
  refused.reason = ErrorReason::TOO_MANY_REQUESTS;
  const auto lines = SpanLines(refused, *ParseTraceParent(kParent), 1, kEnd);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(R"("code":"RESOURCE_EXHAUSTED","reason":"TOO_MANY_REQUESTS"})"));
}

}  // namespace
}  // namespace opserve
