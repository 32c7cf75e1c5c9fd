// The verb bench: load on a server, and what it made of it.

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/cli/bench_answers.h"
#include "client/cli/bench_call.h"
#include "client/cli/call_streams.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/load_generator.h"
#include "client/cli/report.h"
#include "client/wire/wire.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHistogramRows = 12;
constexpr int kHistogramWidth = 40;
constexpr double kPercentiles[] = {50, 90, 95, 99, 99.9};

// Ctrl-C ends the measurement early.
std::atomic<bool> interrupted = false;

// What was measured, in the units that are shown.
struct Figures {
  uint64_t calls = 0;  // that succeeded
  double calls_per_s = 0;
  double gib_per_s = 0;
};

Figures MakeFigures(const LoadResult& result, uint64_t bytes_per_call) {
  const double seconds = absl::ToDoubleSeconds(result.elapsed);
  Figures figures;
  figures.calls = result.latencies.count();
  figures.calls_per_s = static_cast<double>(figures.calls) / seconds;
  figures.gib_per_s = figures.calls_per_s * static_cast<double>(bytes_per_call) / (1 << 30);
  return figures;
}

std::string Duration(uint64_t nanoseconds) { return ShowDuration(absl::Nanoseconds(nanoseconds)); }

Json AnswersAsJson(const BenchAnswers& answers) {
  Json rows = Json::array();
  for (const auto& [device, counts] : answers.devices()) {
    rows.push_back({{"device", device},
                    {"calls", counts.calls},
                    {"mean_batch", counts.MeanBatch()},
                    {"retried", counts.retried},
                    {"verified", counts.verified},
                    {"shared", counts.shared}});
  }
  return rows;
}

void PrintJson(const BenchArguments& arguments, const LoadResult& result,
               const BenchAnswers& answers, const Figures& figures, uint64_t bytes_per_call,
               const Terminal& terminal) {
  const LatencyHistogram& latencies = result.latencies;
  Json latency = {{"min", latencies.min()}, {"mean", std::round(latencies.mean())}};
  for (double percent : kPercentiles) {
    latency[absl::StrCat("p", percent)] = latencies.Percentile(percent);
  }
  latency["max"] = latencies.max();
  Json errors = Json::object();
  for (const auto& [code, count] : result.errors) errors[absl::StatusCodeToString(code)] = count;
  Json report = {{"operator", arguments.operator_name},
                 {"data_type", std::string(NameOf(arguments.type))},
                 {"sizes", arguments.shape},
                 {"device", std::string(NameOf(arguments.device))},
                 {"priority", std::string(NameOf(arguments.priority))},
                 {"verify", arguments.verify},
                 {"concurrency", arguments.concurrency},
                 {"channels", arguments.channels},
                 {"stream", arguments.stream},
                 {"messages", arguments.messages},
                 {"rate", arguments.rate > 0 ? Json(arguments.rate) : Json()},
                 {"duration_s", absl::ToDoubleSeconds(result.elapsed)},
                 {"bytes_per_call", bytes_per_call},
                 {"calls", figures.calls},
                 {"calls_per_s", figures.calls_per_s},
                 {"gib_per_s", figures.gib_per_s},
                 {"latency_ns", latency},
                 {"answers", AnswersAsJson(answers)},
                 {"errors", errors},
                 {"not_started", result.not_started}};
  if (!result.first_error.empty()) report["first_error"] = result.first_error;
  WriteJson(report, terminal);
}

// One bar per latency range; ranges grow by a constant factor from the least to p99.9.
void DrawHistogram(const LatencyHistogram& latencies, const Terminal& terminal) {
  const auto low = static_cast<double>(std::max<uint64_t>(1, latencies.min()));
  const double high = std::max(low * 1.01, static_cast<double>(latencies.Percentile(99.9)));
  const double factor = std::pow(high / low, 1.0 / kHistogramRows);
  std::vector<uint64_t> edges = {0};
  for (int row = 1; row < kHistogramRows; ++row) {
    edges.push_back(static_cast<uint64_t>(low * std::pow(factor, row)));
  }
  edges.push_back(UINT64_MAX);
  std::vector<uint64_t> counts;
  for (int row = 0; row < kHistogramRows; ++row) {
    counts.push_back(latencies.CountBetween(edges[row], edges[row + 1]));
  }
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  terminal.out << '\n';
  for (int row = 0; row < kHistogramRows; ++row) {
    const auto from = static_cast<uint64_t>(low * std::pow(factor, row));
    const std::string bar(counts[row] * kHistogramWidth / most, '#');
    terminal.out << absl::StrFormat("%10s  ", Duration(from)) << terminal.Styled(Style::kGreen, bar)
                 << ' ' << ShowCount(counts[row]) << '\n';
  }
}

void PrintAnswers(const BenchAnswers& answers, const Terminal& terminal) {
  terminal.out << '\n';
  Table table({"answered by", "calls", "mean batch", "retried", "verified", "shared"});
  for (const auto& [device, counts] : answers.devices()) {
    table.AddRow({device, ShowCount(counts.calls), absl::StrFormat("%.1f", counts.MeanBatch()),
                  ShowCount(counts.retried), ShowCount(counts.verified), ShowCount(counts.shared)});
  }
  table.Print(terminal);
}

// "on 4 streams, "; empty for calls of one connection.
std::string HowSent(const BenchArguments& arguments) {
  const int count = arguments.channels;
  if (!arguments.stream) return count == 1 ? "" : absl::StrCat("on ", count, " connections, ");
  return count == 1 ? "on 1 stream, " : absl::StrCat("on ", count, " streams, ");
}

void PrintText(const BenchArguments& arguments, const LoadResult& result,
               const BenchAnswers& answers, const Figures& figures, const Terminal& terminal) {
  const LatencyHistogram& latencies = result.latencies;
  terminal.out << terminal.Styled(Style::kBold, arguments.operator_name) << ' '
               << NameOf(arguments.type) << ' ' << absl::StrJoin(arguments.shape, "x") << ", "
               << arguments.concurrency << " in flight, " << HowSent(arguments)
               << (arguments.rate > 0 ? absl::StrCat("open loop at ", arguments.rate, " calls/s")
                                      : "closed loop")
               << ", " << ShowDuration(result.elapsed) << '\n'
               << ShowCount(figures.calls) << " calls, "
               << absl::StrFormat("%.1f calls/s, %.3f GiB/s of tensors\n\n", figures.calls_per_s,
                                  figures.gib_per_s);
  Table table({"latency", ""});
  table.AddRow({"min", Duration(latencies.min())});
  table.AddRow({"mean", Duration(static_cast<uint64_t>(latencies.mean()))});
  for (double percent : kPercentiles) {
    table.AddRow({absl::StrCat("p", percent), Duration(latencies.Percentile(percent))});
  }
  table.AddRow({"max", Duration(latencies.max())});
  table.Print(terminal);
  PrintAnswers(answers, terminal);
  if (terminal.out_is_terminal && figures.calls > 0) DrawHistogram(latencies, terminal);
  for (const auto& [code, count] : result.errors) {
    terminal.out << terminal.Styled(Style::kRed, absl::StatusCodeToString(code)) << ": "
                 << ShowCount(count) << " calls\n";
  }
  if (!result.first_error.empty()) terminal.out << "such as " << result.first_error << '\n';
  if (result.not_started > 0) {
    terminal.out << ShowCount(result.not_started)
                 << " calls were due but never started; raise --concurrency or lower --rate\n";
  }
}

uint64_t BytesOf(const FileCall& made, const Tensor& output) {
  uint64_t bytes = output.bytes().size();
  for (const Tensor& tensor : made.tensors) bytes += tensor.bytes().size();
  return bytes;
}

absl::StatusOr<LoadResult> Measure(const BenchArguments& arguments, Client& client,
                                   CallStreams& streams, const OperatorCall& call,
                                   BenchAnswers& answers, const Terminal& terminal) {
  // Retries would hide errors, which are part of the result.
  const CallOptions options = {.timeout = {}, .retry = RetryPolicy{.max_attempts = 1}};
  CatchInterrupt(interrupted);
  const auto run = [&] {
    ExecutionInfo info;
    const absl::StatusOr<Tensor> output =
        arguments.stream ? streams.Execute(call, &info) : client.Execute(call, options, &info);
    if (output.ok()) answers.Add(info);
    return output.status();
  };
  const auto start = absl::Now();
  const auto progress = [&](uint64_t done) {
    if (!terminal.err_is_terminal) return;
    terminal.err << "\r\033[K" << ShowDuration(absl::Now() - start) << " of "
                 << ShowDuration(arguments.duration) << ", " << ShowCount(done) << " calls"
                 << std::flush;
  };
  absl::StatusOr<LoadResult> result = GenerateLoad({.duration = arguments.duration,
                                                    .concurrency = arguments.concurrency,
                                                    .rate = arguments.rate},
                                                   run, progress, interrupted);
  if (terminal.err_is_terminal) terminal.err << "\r\033[K" << std::flush;
  return result;
}

}  // namespace

int RunCommand(const BenchArguments& arguments, const Terminal& terminal) {
  const std::string& address = arguments.server.address;
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, arguments.operator_name, address, status);
  };
  absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());
  options->channels = arguments.channels;
  if (arguments.messages) options->max_shared_bytes = 0;
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  const absl::StatusOr<Catalogue> catalogue = (*client)->ListOperators(arguments.operator_name);
  if (!catalogue.ok()) return fail(catalogue.status());
  if (catalogue->operators.empty())
    return fail(absl::NotFoundError("the server lists no operator"));
  const absl::StatusOr<ServerInfo> info = (*client)->GetServerInfo();
  if (!info.ok()) return fail(info.status());
  // Before there is memory for them.
  const absl::Status sized = CheckBenchSize(arguments, info->limits);
  if (!sized.ok()) return fail(sized);
  const absl::StatusOr<FileCall> made = MakeBenchCall(catalogue->operators[0], arguments);
  if (!made.ok()) return fail(made.status());

  // One call up front: it warms up the connection, and a call that cannot work fails here, with all
  // its violations.
  const absl::StatusOr<Tensor> first = (*client)->Execute(made->call);
  if (!first.ok()) return fail(first.status());
  CallStreams streams;
  const absl::Status opened = streams.Open(**client, arguments.stream ? arguments.channels : 0,
                                           client_internal::MakeRequest(made->call).host);
  if (!opened.ok()) return fail(opened);
  BenchAnswers answers;
  const absl::StatusOr<LoadResult> measured =
      Measure(arguments, **client, streams, made->call, answers, terminal);
  if (!measured.ok()) return FailUsage(terminal, arguments.json, measured.status());

  const LoadResult& result = *measured;
  const uint64_t bytes_per_call = BytesOf(*made, *first);
  const Figures figures = MakeFigures(result, bytes_per_call);
  if (arguments.json) {
    PrintJson(arguments, result, answers, figures, bytes_per_call, terminal);
  } else {
    PrintText(arguments, result, answers, figures, terminal);
  }
  return result.error_count() == 0 ? kSuccess : kCallFailed;
}

}  // namespace opserve::cli
