// Measures calls of one kind to one server, or of the kernel, and prints one line of JSON.

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "grpcpp/create_channel.h"
#include "nlohmann/json.hpp"
#include "proto/base/first_connection.h"
#include "tests/bench/wire/calls.h"
#include "tests/bench/wire/chain_calls.h"
#include "tests/bench/wire/client_load.h"
#include "tests/bench/wire/credentials.h"
#include "tests/bench/wire/kernel_load.h"
#include "tests/bench/wire/large_load.h"
#include "tests/bench/wire/meter.h"
#include "tests/bench/wire/placed_calls.h"
#include "tests/bench/wire/stream_load.h"
#include "tests/bench/wire/tuning.h"
#include "tests/bench/wire/unary_load.h"

namespace opserve::wire_bench {
namespace {

// Of modes that hold the payload and what must come back.
constexpr uint64_t kMostPayloadBytes = uint64_t{1} << 30;

struct Options {
  std::string target;
  std::string mode = "execute";
  uint64_t bytes = 64;
  int concurrency = 1;
  double seconds = 0.4;
  double warm_up = 0.1;
  pid_t server_pid = 0;
  Tuning tuning;
  TlsFiles tls;
  bool spoil = false;
  Metadata metadata;
};

std::shared_ptr<grpc::Channel> Connect(const Options& options) {
  PrepareFirstConnection();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  TuneClient(options.tuning, options.target, arguments);
  ExpectName(options.tls, arguments);
  return grpc::CreateCustomChannel(options.target, MakeCredentials(options.tls), arguments);
}

absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeCall(
    const Options& options, const std::shared_ptr<grpc::Channel>& channel, const Payload& payload) {
  if (options.mode == "shared-memory") {
    return MakeSharedMemory(channel, payload, options.concurrency);
  }
  if (options.mode == "resident") return MakeResident(channel, payload, options.concurrency);
  if (options.mode == "chain") return MakeChain(channel, payload, options.concurrency);
  if (options.mode == "calls8") return MakeCallsOfChain(payload);
  return options.mode == "echo" ? MakeRawEcho(payload) : MakeExecute(payload);
}

// nullopt: of a mode without a stream, or with that of the client library.
std::optional<StreamUse> UseOf(const std::string& mode) {
  if (mode == "stream") return StreamUse::kInOrder;
  if (mode == "first-byte") return StreamUse::kInRuns;
  if (mode == "chunked-echo") return StreamUse::kEcho;
  return std::nullopt;
}

absl::Status Run(const Options& options, const Payload& payload, Meter& meter) {
  if (options.mode == "client") {
    return RunClientLoad(options.target, payload, options.concurrency, meter);
  }
  if (options.mode == "pipelined") {
    return RunClientStreamLoad(options.target, payload, options.concurrency, meter);
  }
  if (options.mode == "large") return RunLargeLoad(options.target, payload, options.bytes, meter);
  const std::shared_ptr<grpc::Channel> channel = Connect(options);
  if (options.mode == "proto-echo") {
    return RunUnaryLoad(channel, *MakeProtoEcho(payload), options.concurrency, meter);
  }
  if (const std::optional<StreamUse> use = UseOf(options.mode)) {
    return RunStreamLoad(channel, payload, *use, options.concurrency, meter);
  }
  const auto call = MakeCall(options, channel, payload);
  if (!call.ok()) return call.status();
  return RunUnaryLoad(channel, **call, options.concurrency, meter, options.metadata);
}

absl::StatusOr<Measurement> Measure(const Options& options) {
  const bool is_chain = options.mode == "chain" || options.mode == "calls8";
  const uint64_t payload_bytes = options.mode == "large" ? kLargeBlockBytes : options.bytes;
  if (payload_bytes > kMostPayloadBytes) {
    return absl::InvalidArgumentError("only the mode large takes more than 1 GiB");
  }
  Payload payload(payload_bytes, is_chain ? Work::kChain : Work::kRound);
  if (options.spoil) payload.Spoil();
  const std::chrono::duration<double> warm_up(options.warm_up);
  const std::chrono::duration<double> duration(options.seconds);
  if (options.mode == "kernel") {
    return MeasureKernel(payload, options.concurrency, warm_up, duration);
  }
  Meter meter(warm_up, duration, static_cast<uint64_t>(options.concurrency), options.server_pid);
  absl::Status status = Run(options, payload, meter);
  if (!status.ok()) return status;
  return meter.result();
}

void Print(const Options& options, const Measurement& result) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const double calls = static_cast<double>(result.calls);
  const double gib = calls * static_cast<double>(options.bytes) / kGiB;
  const auto micros = [&result](double percent) {
    return static_cast<double>(result.latency.Percentile(percent)) / 1000;
  };
  const nlohmann::ordered_json line = {
      {"mode", options.mode},
      {"bytes", options.bytes},
      {"concurrency", options.concurrency},
      {"calls", result.calls},
      {"seconds", result.seconds},
      {"calls_per_s", calls / result.seconds},
      {"gib_per_s", gib / result.seconds},
      {"p50_us", micros(50)},
      {"p99_us", micros(99)},
      {"p999_us", micros(99.9)},
      {"client_cpu_s_per_gib", result.client_cpu_s / gib},
      {"server_cpu_s_per_gib", result.server_cpu_s / gib},
      {"server_peak_rss_bytes", result.server_peak_bytes},
      {"server_page_faults_per_call", static_cast<double>(result.server_page_faults) / calls},
  };
  std::cout << line.dump() << std::endl;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Load generator of `make bench-wire`; prints one line of JSON.");
  app.add_option("--target", options.target,
                 "Server, as gRPC names it: host:port, unix:/path; of all modes but kernel");
  app.add_option(
         "--mode", options.mode,
         "proto-echo, echo and chunked-echo call wire_peer, with generated messages, with "
         "bytes, or with bytes in pieces; "
         "kernel calls nobody; client is the client library with its own settings, "
         "pipelined a stream of it; first-byte is a stream as well, and takes the time to the "
         "first piece of an answer; large is one call of the client library's stream at a time, "
         "with "
         "16 MiB over and over; the others call opserve-server")
      ->capture_default_str()
      ->check(CLI::IsMember({"proto-echo", "echo", "chunked-echo", "execute", "client", "stream",
                             "pipelined", "large", "first-byte", "shared-memory", "resident",
                             "kernel", "chain", "calls8"}));
  app.add_option("--bytes", options.bytes, "Payload each way, a multiple of 4")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{4}, uint64_t{1} << 34));
  app.add_option("--concurrency", options.concurrency, "Calls under way")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--seconds", options.seconds, "Time to measure")->capture_default_str();
  app.add_option("--warm-up", options.warm_up, "Seconds before that")->capture_default_str();
  app.add_option("--server-pid", options.server_pid,
                 "Process whose CPU time and memory to measure");
  app.add_option("--metadata", options.metadata,
                 "Key and value for every call, may be repeated; of modes with one call each");
  AddOptions(app, options.tuning);
  AddOptions(app, options.tls);
  app.add_flag("--spoil", options.spoil,
               "Expect one wrong bit of the operators' results, so that right ones are an error");
  CLI11_PARSE(app, argc, argv);

  TuneProcess(options.tuning);
  const absl::StatusOr<Measurement> result = Measure(options);
  if (!result.ok()) {
    std::cerr << "wire_load: " << result.status().message() << "\n";
    return EXIT_FAILURE;
  }
  Print(options, *result);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace opserve::wire_bench

int main(int argc, char** argv) { return opserve::wire_bench::Main(argc, argv); }
