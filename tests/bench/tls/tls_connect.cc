// Opens connections one after the other, each with one small call, and prints how many there were
// per second as JSON.

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "nlohmann/json.hpp"
#include "proto/base/first_connection.h"
#include "proto/base/mutex.h"
#include "tests/bench/wire/calls.h"
#include "tests/bench/wire/credentials.h"
#include "tests/bench/wire/meter.h"

namespace opserve::wire_bench {
namespace {

struct ConnectOptions {
  std::string target;
  int threads = 1;
  double seconds = 2;
  double warm_up = 0.2;
  TlsFiles tls;
};

// One small call over a connection of its own, which is closed in the end.
absl::Status ConnectAndCall(const ConnectOptions& options,
                            const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                            const RawUnaryCall& call) {
  constexpr std::chrono::seconds kLongest(20);
  PrepareFirstConnection();
  grpc::ChannelArguments arguments;
  // Else channels to one target share their connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  ExpectName(options.tls, arguments);
  grpc::GenericStub stub(grpc::CreateCustomChannel(options.target, credentials, arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLongest);
  grpc::CompletionQueue queue;
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto reader = stub.PrepareUnaryCall(&context, call.method(), call.request(0), &queue);
  reader->StartCall();
  reader->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat("a call failed with code ", status.error_code(), ": ",
                                            status.error_message()));
  }
  return call.Check(answer, {0, call.payload_bytes()});
}

// Thread-safe.
class ConnectLoad {
 public:
  explicit ConnectLoad(const ConnectOptions& options)
      : options_(options),
        credentials_(MakeCredentials(options.tls)),
        meter_(std::chrono::duration<double>(options.warm_up),
               std::chrono::duration<double>(options.seconds), 1, /*server=*/0) {}

  absl::StatusOr<Measurement> Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.threads; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    const MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    return meter_.result();
  }

 private:
  void Work() {
    while (!is_over_) {
      const SteadyClock::time_point began = SteadyClock::now();
      const absl::Status status = ConnectAndCall(options_, credentials_, *call_);
      const SteadyClock::time_point ended = SteadyClock::now();
      const MutexLock lock(mutex_);
      status_.Update(status);
      if (!status.ok() || !meter_.Done(began, ended)) is_over_ = true;
    }
  }

  const ConnectOptions& options_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const Payload payload_{64};
  const std::unique_ptr<RawUnaryCall> call_ = MakeExecute(payload_);
  std::atomic<bool> is_over_{false};
  Mutex mutex_;
  Meter meter_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

int RunTlsConnect(int argc, char** argv) {
  ConnectOptions options;
  CLI::App app("New connections per second of `make bench-tls`; prints one line of JSON.");
  app.add_option("--target", options.target, "Server: host:port")->required();
  app.add_option("--threads", options.threads, "Connections at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--seconds", options.seconds, "Time to measure")->capture_default_str();
  app.add_option("--warm-up", options.warm_up, "Seconds before that")->capture_default_str();
  AddOptions(app, options.tls);
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<Measurement> result = ConnectLoad(options).Run();
  if (!result.ok()) {
    std::cerr << "tls_connect: " << result.status().message() << "\n";
    return EXIT_FAILURE;
  }
  const nlohmann::ordered_json line = {
      {"connections", result->calls},
      {"seconds", result->seconds},
      {"connections_per_s", static_cast<double>(result->calls) / result->seconds},
      {"p50_us", static_cast<double>(result->latency.Percentile(50)) / 1000},
      {"p99_us", static_cast<double>(result->latency.Percentile(99)) / 1000},
  };
  std::cout << line.dump() << std::endl;
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace opserve::wire_bench

int main(int argc, char** argv) { return opserve::wire_bench::RunTlsConnect(argc, argv); }
