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
                 "Address for metrics over HTTP, in the form of --listen; without it: none")
      ->type_name("ADDRESS")
      ->check(IsAddressOrEmpty());
  app.add_option("--access-log", server.access_log,
                 "File for a line of JSON per request; -: standard output; SIGHUP opens it anew")
      ->type_name("FILE");
  app.add_option("--trace-log", server.trace_log,
                 "The same for the spans of requests whose callers record their trace")
      ->type_name("FILE");
  app.add_option("--audit-log", server.audit_log,
                 "The same for calls of administrators, each before its answer, and for SIGHUP")
      ->type_name("FILE");
}

}  // namespace opserve
