// Opens idle connections to a server, makes calls meanwhile, and prints what they cost as JSON.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "nlohmann/json.hpp"
#include "proto/base/first_connection.h"
#include "tests/bench/wire/calls.h"
#include "tests/bench/wire/idle_connections.h"
#include "tests/bench/wire/meter.h"
#include "tests/bench/wire/unary_load.h"

namespace opserve::wire_bench {
namespace {

struct Options {
  std::string target;
  size_t connections = 10000;
  pid_t server_pid = 0;
};

// Half a second of small calls, each checked.
absl::Status Probe(const std::string& target, Meter& meter) {
  PrepareFirstConnection();
  const Payload payload(64);
  return RunUnaryLoad(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()),
                      *MakeExecute(payload), 1, meter);
}

absl::Status Run(const Options& options) {
  // What this process needs beside the connections.
  constexpr size_t kOtherFiles = 64;
  const size_t limit = RaiseFileLimit();
  const size_t wanted =
      std::min(options.connections, limit > kOtherFiles ? limit - kOtherFiles : 0);
  const auto meter = [&options] {
    return Meter(std::chrono::milliseconds(100), std::chrono::milliseconds(400), 1,
                 options.server_pid);
  };
  Meter before = meter();
  if (absl::Status status = Probe(options.target, before); !status.ok()) return status;
  const uint64_t resident_before = ResidentBytes(options.server_pid);
  IdleConnections connections(options.target);
  while (connections.size() < wanted) {
    if (absl::Status status = connections.Open(); !status.ok()) return status;
  }
  Meter during = meter();
  if (absl::Status status = Probe(options.target, during); !status.ok()) return status;
  const uint64_t resident = ResidentBytes(options.server_pid);
  const auto growth = static_cast<double>(resident) - static_cast<double>(resident_before);
  const nlohmann::ordered_json line = {
      {"connections_wanted", options.connections},
      {"connections", connections.size()},
      {"closed_by_server", connections.CountClosed()},
      {"file_limit", limit},
      {"server_rss_bytes_before", resident_before},
      {"server_rss_bytes", resident},
      {"server_rss_bytes_per_connection",
       connections.size() == 0 ? 0 : growth / static_cast<double>(connections.size())},
      {"probe_p50_us_before", static_cast<double>(before.result().latency.Percentile(50)) / 1000},
      {"probe_p50_us", static_cast<double>(during.result().latency.Percentile(50)) / 1000},
  };
  std::cout << line.dump() << std::endl;
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Idle connections to opserve-server; prints one line of JSON.");
  app.add_option("--target", options.target, "Server: host:port (numeric) or unix:/path")
      ->required();
  app.add_option("--connections", options.connections,
                 "How many, as far as the limit of files goes")
      ->capture_default_str();
  app.add_option("--server-pid", options.server_pid, "Process whose memory to measure")->required();
  CLI11_PARSE(app, argc, argv);
  if (absl::Status status = Run(options); !status.ok()) {
    std::cerr << "wire_idle: " << status.message() << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace opserve::wire_bench

int main(int argc, char** argv) { return opserve::wire_bench::Main(argc, argv); }
