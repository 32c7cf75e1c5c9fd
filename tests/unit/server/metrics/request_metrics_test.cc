// What requests add to the metrics, number by number.

#include "server/metrics/request_metrics.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

using std::chrono::microseconds;

// "label/label value" of each value of a metric.
std::vector<std::string> ValuesOf(const RequestMetrics& metrics, const std::string& name) {
  MetricSet set;
  metrics.Collect(set);
  std::vector<std::string> lines;
  for (const prometheus::MetricFamily& family : set.families()) {
    if (family.name != name) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      const std::string labels = absl::StrJoin(
          metric.label, "/", [](std::string* out, const auto& label) { out->append(label.value); });
      lines.push_back(absl::StrCat(labels, " ", metric.counter.value));
    }
  }
  return lines;
}

prometheus::ClientMetric::Histogram HistogramOf(const RequestMetrics& metrics,
                                                const std::string& name) {
  MetricSet set;
  metrics.Collect(set);
  for (const prometheus::MetricFamily& family : set.families()) {
    if (family.name == name && family.metric.size() == 1) return family.metric[0].histogram;
  }
  return {};
}

constexpr absl::string_view kMethod = "Execute";
constexpr absl::string_view kDevice = "cpu/TEST";

RequestRecord AnsweredRequest() {
  RequestRecord record;
  record.method = kMethod;
  record.work = WorkKind::kOperator;
  record.op = OpId::ELEMENT_WISE_ROUND;
  record.type = DataType::kFloat32;
  record.bytes_in = 100;
  record.bytes_out = 60;
  record.total = microseconds(300);
  record.device = kDevice;
  record.queued = microseconds(20);
  record.ran = microseconds(7);
  return record;
}

// Metrics ask neither.
class Nobody final : public RequestSource {
 public:
  std::string client() const override { return "not asked for"; }
  std::string traceparent() const override { return "not asked for"; }
};

void Observe(RequestMetrics& metrics, const RequestRecord& record) {
  metrics.OnRequest(record, Nobody());
}

TEST(RequestMetrics, CountsAnAnsweredRequestOnce) {
  RequestMetrics metrics;
  Observe(metrics, AnsweredRequest());
  EXPECT_EQ(ValuesOf(metrics, "opserve_requests_total"),
            std::vector<std::string>({"ELEMENT_WISE_ROUND/FLOAT32/cpu/TEST/OK 1"}));
  EXPECT_EQ(ValuesOf(metrics, "opserve_calls_total"), std::vector<std::string>({"Execute/OK 1"}));
  EXPECT_EQ(ValuesOf(metrics, "opserve_received_bytes_total"),
            std::vector<std::string>({"Execute 100"}));
  EXPECT_EQ(ValuesOf(metrics, "opserve_sent_bytes_total"),
            std::vector<std::string>({"Execute 60"}));
}

TEST(RequestMetrics, TellsHowLongTransfersTake) {
  RequestMetrics metrics;
  EXPECT_EQ(HistogramOf(metrics, "opserve_receive_seconds").sample_count, 0u);
  RequestRecord in_pieces = AnsweredRequest();
  in_pieces.received = microseconds(2000);
  Observe(metrics, in_pieces);
  Observe(metrics, AnsweredRequest());
  const auto received = HistogramOf(metrics, "opserve_receive_seconds");
  EXPECT_EQ(received.sample_count, 1u);
  EXPECT_DOUBLE_EQ(received.sample_sum, 2e-3);
  EXPECT_EQ(HistogramOf(metrics, "opserve_send_seconds").sample_count, 0u);
  metrics.OnSent(kMethod, microseconds(40));
  metrics.OnSent(kMethod, microseconds(50));
  const auto sent = HistogramOf(metrics, "opserve_send_seconds");
  EXPECT_EQ(sent.sample_count, 2u);
  EXPECT_DOUBLE_EQ(sent.sample_sum, 90e-6);
}

TEST(RequestMetrics, PutsTimesIntoTheirBuckets) {
  RequestMetrics metrics;
  Observe(metrics, AnsweredRequest());
  RequestRecord at_bound = AnsweredRequest();
  at_bound.total = microseconds(250);
  Observe(metrics, at_bound);
  RequestRecord endless = AnsweredRequest();
  endless.total = std::chrono::seconds(11);
  Observe(metrics, endless);
  const auto total = HistogramOf(metrics, "opserve_request_duration_seconds");
  EXPECT_EQ(total.sample_count, 3u);
  EXPECT_DOUBLE_EQ(total.sample_sum, 11.00055);
  ASSERT_EQ(total.bucket.size(), 20u);
  EXPECT_EQ(total.bucket[3].upper_bound, 1e-4);
  EXPECT_EQ(total.bucket[3].cumulative_count, 0u);
  EXPECT_EQ(total.bucket[4].upper_bound, 2.5e-4);
  EXPECT_EQ(total.bucket[4].cumulative_count, 1u);
  EXPECT_EQ(total.bucket[5].cumulative_count, 2u);
  EXPECT_EQ(total.bucket[18].upper_bound, 10);
  EXPECT_EQ(total.bucket[18].cumulative_count, 2u);
  EXPECT_EQ(total.bucket[19].cumulative_count, 3u);
  EXPECT_DOUBLE_EQ(HistogramOf(metrics, "opserve_request_queue_seconds").sample_sum, 60e-6);
  EXPECT_DOUBLE_EQ(HistogramOf(metrics, "opserve_request_run_seconds").sample_sum, 21e-6);
}

TEST(RequestMetrics, CountsARefusedRequestWithoutADevice) {
  RequestMetrics metrics;
  RequestRecord refused = AnsweredRequest();
  refused.device = {};
  refused.type = DataType::kUnknown;
  refused.code = absl::StatusCode::kInvalidArgument;
  refused.reason = ErrorReason::INVALID_REQUEST;
  Observe(metrics, refused);
  EXPECT_EQ(ValuesOf(metrics, "opserve_requests_total"),
            std::vector<std::string>({"ELEMENT_WISE_ROUND/none/none/INVALID_ARGUMENT 1"}));
  EXPECT_EQ(HistogramOf(metrics, "opserve_request_duration_seconds").sample_count, 1u);
  EXPECT_EQ(HistogramOf(metrics, "opserve_request_queue_seconds").sample_count, 0u);
  EXPECT_EQ(HistogramOf(metrics, "opserve_request_run_seconds").sample_count, 0u);
}

TEST(RequestMetrics, ListsEveryReasonFromTheStart) {
  RequestMetrics metrics;
  RequestRecord refused = AnsweredRequest();
  refused.code = absl::StatusCode::kUnavailable;
  refused.reason = ErrorReason::DRAINING;
  Observe(metrics, refused);
  refused.reason.reset();
  Observe(metrics, refused);
  Observe(metrics, refused);
  std::vector<std::string> expected;
  for (const ErrorReason reason : kAllErrorReasons) {
    expected.push_back(absl::StrCat(NameOf(reason), reason == ErrorReason::DRAINING ? " 1" : " 0"));
  }
  expected.push_back("none 2");
  EXPECT_EQ(ValuesOf(metrics, "opserve_errors_total"), expected);
}

TEST(RequestMetrics, CountsCallsThatComputeNothingByTheirMethodAlone) {
  RequestMetrics metrics;
  RequestRecord listing;
  listing.method = "ListOperators";
  Observe(metrics, listing);
  EXPECT_EQ(ValuesOf(metrics, "opserve_calls_total"),
            std::vector<std::string>({"ListOperators/OK 1"}));
  EXPECT_TRUE(ValuesOf(metrics, "opserve_requests_total").empty());
}

TEST(RequestMetrics, CountsExecuteAlsoWhereNothingElseIsKnown) {
  RequestMetrics metrics;
  RequestRecord too_large;
  too_large.method = kMethod;
  too_large.code = absl::StatusCode::kResourceExhausted;
  Observe(metrics, too_large);
  RequestRecord sequence;
  sequence.method = "ExecuteSequence";
  sequence.work = WorkKind::kSequence;
  sequence.device = kDevice;
  Observe(metrics, sequence);
  EXPECT_EQ(ValuesOf(metrics, "opserve_requests_total"),
            std::vector<std::string>(
                {"none/none/none/RESOURCE_EXHAUSTED 1", "sequence/none/cpu/TEST/OK 1"}));
}

TEST(RequestMetrics, CountsEveryMethodThatComputesWhereNothingElseIsKnown) {
  for (const absl::string_view method :
       {"Execute", "ExecuteStream", "ExecuteSequence", "ModelInfer", "ModelStreamInfer"}) {
    SCOPED_TRACE(method);
    RequestMetrics metrics;
    RequestRecord refused;
    refused.method = method;
    refused.code = absl::StatusCode::kInvalidArgument;
    Observe(metrics, refused);
    EXPECT_EQ(ValuesOf(metrics, "opserve_requests_total"),
              std::vector<std::string>({"none/none/none/INVALID_ARGUMENT 1"}));
  }
  RequestMetrics metrics;
  RequestRecord listing;
  listing.method = "ModelMetadata";
  Observe(metrics, listing);
  EXPECT_TRUE(ValuesOf(metrics, "opserve_requests_total").empty());
}

TEST(RequestMetrics, LosesNothingWithManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kEach = 10000;
  RequestMetrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&metrics] {
      for (int n = 0; n < kEach; ++n) Observe(metrics, AnsweredRequest());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValuesOf(metrics, "opserve_requests_total"),
            std::vector<std::string>({"ELEMENT_WISE_ROUND/FLOAT32/cpu/TEST/OK 80000"}));
  EXPECT_EQ(HistogramOf(metrics, "opserve_request_run_seconds").sample_count, 80000u);
}

TEST(RequestMetrics, PutsDevicesBeyondItsTablesTogether) {
  RequestMetrics metrics;
  std::vector<std::string> names;
  for (int i = 0; i < 34; ++i) names.push_back(absl::StrCat("gpu/", i));
  for (const std::string& name : names) {
    RequestRecord record = AnsweredRequest();
    record.device = name;
    Observe(metrics, record);
  }
  const std::vector<std::string> counts = ValuesOf(metrics, "opserve_requests_total");
  ASSERT_EQ(counts.size(), 33u);
  EXPECT_EQ(counts[31], "ELEMENT_WISE_ROUND/FLOAT32/gpu/31/OK 1");
  EXPECT_EQ(counts[32], "ELEMENT_WISE_ROUND/FLOAT32/other/OK 2");
}

TEST(NameIndex, NumbersEqualNamesAlikeWhereverTheyAre) {
  NameIndex<2> index;
  const std::string first = "one";
  const std::string same = "one";
  const std::string second = "two";
  const std::string third = "three";
  EXPECT_EQ(index.Of(first), 0u);
  EXPECT_EQ(index.Of(second), 1u);
  EXPECT_EQ(index.Of(same), 0u);
  EXPECT_EQ(index.Of(third), NameIndex<2>::kOther);
  EXPECT_EQ(index.Of(second), 1u);
  EXPECT_EQ(index.NameOf(1), "two");
  EXPECT_EQ(index.NameOf(NameIndex<2>::kOther), "other");
}

TEST(RequestRecord, FindsTheReasonOfAnError) {
  EXPECT_EQ(ReasonOf(DrainingError()), ErrorReason::DRAINING);
  EXPECT_EQ(ReasonOf(absl::InternalError("of somebody else")), std::nullopt);
  EXPECT_EQ(ReasonOf(absl::OkStatus()), std::nullopt);
}

TEST(MetricSet, MakesTextOfClientsHarmless) {
  MetricSet set;
  set.Add(MetricId::kClientBytes, {"a\"b\\c\nd\xff" + std::string(200, 'x')}, 1);
  const std::string text = set.ToText();
  EXPECT_NE(text.find("opserve_client_held_bytes{client=\"a\\\"b\\\\c?d?xx"), std::string::npos)
      << text;
  EXPECT_NE(text.find(std::string(kMaxLabelBytes - 8, 'x') + "\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace opserve
