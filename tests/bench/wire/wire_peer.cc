// A server for wire_load: what a gRPC server could reach that has nothing to do, or what opserve
// would in another style.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "server/program/ready_file.h"
#include "server/program/stop_signals.h"
#include "tests/bench/wire/peer.h"
#include "tests/bench/wire/tuning.h"

namespace opserve::wire_bench {
namespace {

struct Options {
  std::vector<std::string> listen = {"127.0.0.1:0"};
  std::string ready_file;
  std::string style = "raw-cq";
  Tuning tuning;
  bool spoil = false;
};

// The addresses with the ports that were picked.
std::vector<std::string> Bound(const std::vector<std::string>& addresses,
                               const std::vector<int>& ports) {
  std::vector<std::string> bound;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string host = addresses[i].substr(0, addresses[i].rfind(':'));
    bound.push_back(absl::StartsWith(addresses[i], "unix:") ? addresses[i]
                                                            : absl::StrCat(host, ":", ports[i]));
  }
  return bound;
}

int Serve(const Options& options) {
  StopSignals signals;
  TuneProcess(options.tuning);
  const std::unique_ptr<Peer> peer = MakePeer(options.style, options.spoil);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.SetOption(ServerTuning(options.tuning));
  std::vector<int> ports(options.listen.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    builder.AddListeningPort(options.listen[i], grpc::InsecureServerCredentials(), &ports[i]);
  }
  peer->Register(builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "wire_peer: cannot listen\n";
    return EXIT_FAILURE;
  }
  peer->Start();
  const auto ready_file = ReadyFile::Create(options.ready_file, Bound(options.listen, ports));
  if (!ready_file.ok()) {
    std::cerr << "wire_peer: " << ready_file.status() << "\n";
  } else {
    signals.Wait();
  }
  // Calls that have not ended by now do not matter.
  server->Shutdown(std::chrono::system_clock::now());
  peer->Stop();
  return ready_file.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Peer of opserve-server in `make bench-wire`; ends on SIGTERM.");
  app.add_option("--listen", options.listen, "Address, may be repeated; port 0 picks a free one")
      ->allow_extra_args(false);
  app.add_option("--ready-file", options.ready_file, "File for the addresses, once it serves")
      ->required();
  app.add_option("--style", options.style, "How calls are taken and messages are held")
      ->capture_default_str()
      ->check(CLI::IsMember(PeerStyles()));
  AddOptions(app, options.tuning);
  app.add_flag("--spoil", options.spoil, "Flip one bit of every answer (raw styles)");
  CLI11_PARSE(app, argc, argv);
  return Serve(options);
}

}  // namespace
}  // namespace opserve::wire_bench

int main(int argc, char** argv) { return opserve::wire_bench::Main(argc, argv); }
