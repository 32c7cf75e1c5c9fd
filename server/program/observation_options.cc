#include "server/program/observation_options.h"

#include <string>

#include "server/edge/listen_address.h"

namespace opserve {
namespace {

CLI::Validator IsAddressOrEmpty() {
  return CLI::Validator(
      [](const std::string& text) {
        // Empty, as --print-config writes that there is none.
        if (text.empty()) return std::string();
        return std::string(ParseListenAddress(text).status().message());
      },
      "");
}

}  // namespace

void AddObservationOptions(CLI::App& app, ServerOptions& server) {
  app.add_option("--metrics-listen", server.metrics_listen,
                 "Address to offer metrics at over HTTP, in the form of --listen; without it there "
                 "are none")
      ->type_name("ADDRESS")
      ->check(IsAddressOrEmpty());
}

}  // namespace opserve
