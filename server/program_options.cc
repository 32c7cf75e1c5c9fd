#include "server/program_options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "server/listen_address.h"

namespace opserve {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kTiB = uint64_t{1} << 40;

// Texts of enumerators, in their order.
const std::vector<std::string> kLogFormats = {"text", "json"};
const std::vector<std::string> kLogLevels = {"debug", "info", "warn", "error", "off"};

template <class Enum>
Enum EnumOf(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

// A number between two bounds; the flag's own text tells them.
template <class T>
CLI::Validator Between(T least, T most) {
  return CLI::Range(least, most).description("");
}

CLI::Validator IsListenAddress() {
  return CLI::Validator(
      [](const std::string& text) {
        return std::string(ParseListenAddress(text).status().message());
      },
      "");
}

// Options whose values need a conversion after parsing.
struct RawValues {
  uint64_t drain_timeout_s = 30;
  std::string log_format = "text";
  std::string log_level = "info";
  bool print_config = false;
};

void AddNetworkOptions(CLI::App& app, ServerOptions& server) {
  app.add_option("--listen", server.listen,
                 "Address to listen on: host:port, [::1]:port or unix:/path; port 0 picks a free "
                 "one; may be repeated")
      ->type_name("ADDRESS")
      ->default_str(server.listen.front())
      ->check(IsListenAddress());
  CLI::Option* const certificate =
      app.add_option("--tls-certificate", server.tls_certificate,
                     "PEM file with the certificate chain; with it all addresses speak TLS only")
          ->type_name("FILE");
  CLI::Option* const key =
      app.add_option("--tls-key", server.tls_key, "PEM file with the key of the certificate")
          ->type_name("FILE")
          ->needs(certificate);
  certificate->needs(key);
}

void AddThreadOptions(CLI::App& app, ServerOptions& server) {
  app.add_option("--workers", server.workers,
                 "Threads that run requests, up to 1024; 0: one per processor")
      ->capture_default_str()
      ->check(Between(0, 1024));
  app.add_option("--cpu-threads", server.cpu_threads,
                 "Most threads that one large tensor is spread over, up to 1024; 0: one per "
                 "processor")
      ->capture_default_str()
      ->check(Between(0, 1024));
}

// The bytes that a text such as "64MiB" means; an error text goes to `error`.
uint64_t SizeOf(std::string text, std::string& error) {
  uint64_t value = 0;
  // Turns the unit into a factor, in place.
  error = CLI::AsSizeValue(false)(text);
  if (error.empty() && !CLI::detail::lexical_cast(text, value)) error = "is not a size";
  return value;
}

// A size in bytes, with or without a unit. The text is kept, so that --print-config prints it.
void AddSize(CLI::App& app, const std::string& name, uint64_t& value, const char* default_text,
             uint64_t least, uint64_t most, const std::string& description) {
  const auto check = [least, most](const std::string& text) {
    std::string error;
    const uint64_t size = SizeOf(text, error);
    if (error.empty() && (size < least || size > most)) {
      error = absl::StrCat("Value ", text, " not in range ", least, " to ", most);
    }
    return error;
  };
  const auto assign = [&value](const std::string& text) {
    std::string error;
    value = SizeOf(text, error);
  };
  app.add_option_function<std::string>(name, assign, description)
      ->type_name("SIZE")
      ->default_str(default_text)
      ->check(CLI::Validator(check, ""));
}

void AddLimitOptions(CLI::App& app, ServerOptions& server) {
  AddSize(app, "--max-message-bytes", server.max_message_bytes, "256MiB", 4 * kKiB, 2048 * kMiB - 1,
          "Largest message in each direction, 4KiB to 2047MiB; sizes take the units KiB, MiB and "
          "GiB");
  AddSize(app, "--max-tensor-bytes", server.validation.max_tensor_bytes, "256MiB", 8, kTiB,
          "Largest tensor, padding included, 8 to 1TiB");
  app.add_option("--max-elements", server.validation.max_elements,
                 "Most elements of a tensor, up to 4294967295, DirectML's own limit")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{std::numeric_limits<uint32_t>::max()}));
  app.add_option("--max-concurrent-requests", server.admission.max_requests,
                 "Most requests accepted and not yet answered, up to 1000000; further ones get "
                 "RESOURCE_EXHAUSTED")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{1000000}));
  AddSize(app, "--max-queued-bytes", server.admission.max_bytes, "1GiB", 4 * kKiB, kTiB,
          "Most bytes of inputs and outputs held by accepted requests, 4KiB to 1TiB; further "
          "requests get RESOURCE_EXHAUSTED");
  app.add_option("--request-cache-entries", server.request_cache_entries,
                 "Validated calls to remember, up to 1000000; 0: none")
      ->capture_default_str()
      ->check(Between(size_t{0}, size_t{1000000}));
}

void AddProcessOptions(CLI::App& app, ProgramOptions& options, RawValues& raw) {
  app.add_option("--drain-timeout", raw.drain_timeout_s,
                 "Longest wait in seconds for accepted requests after SIGTERM or SIGINT, up to "
                 "86400")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{0}, uint64_t{86400}));
  app.add_option("--log-format", raw.log_format, "Form of log lines: text or json")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->check(CLI::IsMember(kLogFormats).description(""));
  app.add_option("--log-level", raw.log_level,
                 "Least severe lines to write: debug (every request), info, warn, error or off")
      ->type_name("LEVEL")
      ->capture_default_str()
      ->check(CLI::IsMember(kLogLevels).description(""));
  app.add_option("--ready-file", options.ready_file,
                 "File to write once the server serves, one address per line; removed at exit")
      ->type_name("FILE");
  app.add_flag("--print-config", raw.print_config,
               "Print all settings in the form of a configuration file, and exit")
      ->configurable(false);
}

}  // namespace

std::variant<ProgramOptions, EarlyExit> ParseProgramOptions(int argc, const char* const* argv) {
  ProgramOptions options;
  RawValues raw;
  CLI::App app(
      "Runs DirectML operators for clients that call it over gRPC.\n"
      "Exit codes: 0 after a complete drain or an informational flag, 1 if it cannot start, 2 for "
      "wrong usage,\n3 if the drain timed out, 4 if a second signal ended the drain.",
      "opserve-server");
  app.set_version_flag("--version", "opserve-server " OPSERVE_VERSION,
                       "Print the version, and exit");
  app.set_config("--config", "",
                 "File with settings, one name=value per line (TOML or INI) without the leading "
                 "dashes; flags win over it")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  AddNetworkOptions(app, options.server);
  AddThreadOptions(app, options.server);
  AddLimitOptions(app, options.server);
  AddProcessOptions(app, options, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return EarlyExit{0, absl::StrCat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) {
    return EarlyExit{kExitUsage, absl::StrCat("opserve-server: ", error.what(),
                                              "\nTry opserve-server --help.\n")};
  }
  if (raw.print_config) return EarlyExit{0, app.config_to_str(true, true)};
  options.drain_timeout = std::chrono::seconds(raw.drain_timeout_s);
  options.log_format = EnumOf<LogFormat>(kLogFormats, raw.log_format);
  options.log_level = EnumOf<LogLevel>(kLogLevels, raw.log_level);
  return options;
}

}  // namespace opserve
