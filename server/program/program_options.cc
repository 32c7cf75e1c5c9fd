#include "server/program/program_options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/base/empty_values.h"
#include "server/edge/listen_address.h"
#include "server/errors/host_ids.h"
#include "server/program/access_options.h"
#include "server/program/config_file.h"
#include "server/program/lease_options.h"
#include "server/program/observation_options.h"
#include "server/program/socket_options.h"

namespace opserve {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kTiB = uint64_t{1} << 40;
constexpr uint64_t kYearInSeconds = uint64_t{365} * 24 * 3600;

// Texts of enumerators, in their order.
const std::vector<std::string> kLogFormats = {"text", "json"};
const std::vector<std::string> kPlacements = {"auto", "gpu", "cpu"};
const std::vector<std::string> kSwitch = {"off", "on"};
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

CLI::Validator IsRate() {
  return CLI::Validator(
      [](const std::string& text) {
        double rate = 0;
        // CLI11's range would take "nan".
        const bool is_rate = CLI::detail::lexical_cast(text, rate) && rate >= 0 && rate <= 1;
        return is_rate ? std::string() : absl::StrCat("Value ", text, " not in range 0 to 1");
      },
      "");
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
  std::string placement = "auto";
  uint64_t device_timeout_s = 10;
  uint64_t device_retry_s = 1;
  uint64_t max_device_retry_s = 60;
  uint64_t max_batch_delay_us = 500;
  std::vector<std::string> client_weights;
  std::string regions = "on";
  uint64_t stall_limit_s = 120;
  uint64_t drain_stall_limit_s = 2;
  uint64_t region_idle_limit_s = 60;
  uint64_t lease_s = 300;
  uint64_t max_lease_s = 3600;
  bool print_config = false;
};

void AddNetworkOptions(CLI::App& app, ServerOptions& server) {
  app.add_option("--listen", server.listen,
                 "Address to listen on: host:port, [::1]:port or unix:/path; port 0 picks a free "
                 "one; may be repeated")
      ->type_name("ADDRESS")
      ->allow_extra_args(false)
      ->default_str(server.listen.front())
      ->check(IsListenAddress());
  app.add_option("--advertise", server.advertise,
                 "Address under which clients reach this host among others, host:port or "
                 "unix:/path: ids of tensors, regions and leases carry it; empty: they carry none")
      ->type_name("ADDRESS")
      ->check(CLI::Validator(
          [](const std::string& text) {
            // Empty, as --print-config writes that there is none.
            return text.empty() || IsHostAddress(text)
                       ? std::string()
                       : absl::StrCat("Value ", text,
                                      " is no address of one host that clients can go to");
          },
          ""));
  CLI::Option* const certificate =
      app.add_option("--tls-certificate", server.tls_certificate,
                     "PEM file with the certificate chain; with it TCP addresses speak TLS only")
          ->type_name("FILE");
  CLI::Option* const key =
      app.add_option("--tls-key", server.tls_key, "PEM file with the key of the certificate")
          ->type_name("FILE")
          ->needs(certificate);
  certificate->needs(key);
  app.add_flag("--kserve", server.kserve,
               "Also serve clients of KServe's v2 inference protocol, such as tritonclient: each "
               "operator is a model");
  app.add_option("--max-connections", server.edge.max_connections,
                 "Most connections at a time, up to 500000; fewer where the limit on open files "
                 "has no room for two files each")
      ->capture_default_str()
      ->check(Between(size_t{1}, size_t{500000}));
  app.add_option("--max-connections-per-client", server.edge.max_connections_per_client,
                 "Most connections of one address, or of one user of a socket file, up to 500000; "
                 "0: half of all")
      ->capture_default_str()
      ->check(Between(size_t{0}, size_t{500000}));
}

constexpr absl::string_view kAuto = "auto";

// The bytes that a text such as "64MiB" means; an error text goes to `error`.
uint64_t SizeOf(std::string text, std::string& error) {
  uint64_t value = 0;
  // Turns the unit into a factor, in place.
  error = CLI::AsSizeValue(false)(text);
  if (error.empty() && !CLI::detail::lexical_cast(text, value)) error = "is not a size";
  return value;
}

// A size in bytes, with or without a unit. The text is kept, so that --print-config prints it. One
// whose default is "auto" is also set to that, which is UINT64_MAX: whatever there is.
void AddSize(CLI::App& app, const std::string& name, uint64_t& value, const char* default_text,
             uint64_t least, uint64_t most, const std::string& description) {
  const bool has_auto = absl::string_view(default_text) == kAuto;
  const auto check = [least, most, has_auto](const std::string& text) {
    std::string error;
    if (has_auto && text == kAuto) return error;
    const uint64_t size = SizeOf(text, error);
    if (error.empty() && (size < least || size > most)) {
      error = absl::StrCat("Value ", text, " not in range ", least, " to ", most);
    }
    return error;
  };
  const auto assign = [&value, has_auto](const std::string& text) {
    std::string error;
    value = has_auto && text == kAuto ? UINT64_MAX : SizeOf(text, error);
  };
  app.add_option_function<std::string>(name, assign, description)
      ->type_name("SIZE")
      ->default_str(default_text)
      ->check(CLI::Validator(check, ""));
}

void AddThreadOptions(CLI::App& app, ServerOptions& server) {
  app.add_option("--pollers", server.pollers,
                 "Threads that read and answer calls, up to 256; 0: one per four processors, 1 to "
                 "8")
      ->capture_default_str()
      ->check(Between(0, 256));
  app.add_option("--workers", server.workers,
                 "Threads that run requests on the processor, up to 1024; 0: one per processor")
      ->capture_default_str()
      ->check(Between(0, 1024));
  app.add_option("--cpu-threads", server.cpu_threads,
                 "Most threads that one large tensor is spread over, up to 1024; 0: one per "
                 "processor")
      ->capture_default_str()
      ->check(Between(0, 1024));
  AddSize(app, "--inline-bytes", server.inline_bytes, "8MiB", 0, 16 * kMiB,
          "Most bytes of inputs and outputs of a request that a poller runs on the processor "
          "itself while none waits, up to 16MiB; what is known to take long is queued; 0: none");
}

void AddRegionOptions(CLI::App& app, RegionOptions& regions, RawValues& raw) {
  app.add_option("--regions", raw.regions,
                 "Whether programs on this machine can share memory with the server: on (at the "
                 "first unix socket's path + .regions) or off")
      ->type_name("SWITCH")
      ->capture_default_str()
      ->check(CLI::IsMember(kSwitch).description(""));
  AddSize(app, "--max-region-bytes", regions.limits.max_bytes, "2GiB", 4 * kKiB, kTiB,
          "Most bytes that one connection shares, 4KiB to 1TiB");
  AddSize(app, "--max-region-bytes-per-user", regions.limits.max_bytes_per_user, "4GiB", 4 * kKiB,
          kTiB, "Most bytes that all connections of one user share, 4KiB to 1TiB");
  AddSize(app, "--max-region-bytes-in-all", regions.limits.max_bytes_of_all, "8GiB", 4 * kKiB, kTiB,
          "Most bytes that all connections share, 4KiB to 1TiB");
  app.add_option("--max-regions", regions.limits.max_regions,
                 "Most regions that one connection shares, up to 1024")
      ->capture_default_str()
      ->check(Between(size_t{1}, size_t{1024}));
  app.add_option("--max-region-connections", regions.max_connections,
                 "Most connections that share memory, up to 1024")
      ->capture_default_str()
      ->check(Between(size_t{1}, size_t{1024}));
  app.add_option("--max-region-connections-per-user", regions.max_connections_per_user,
                 "Most connections of one user that share memory, up to 1024")
      ->capture_default_str()
      ->check(Between(size_t{1}, size_t{1024}));
  app.add_option("--region-idle-limit", raw.region_idle_limit_s,
                 "Longest time that a connection without regions stays, 1 to 86400")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{86400}));
  app.add_flag("--posix-shared-memory", regions.posix_shared_memory,
               "Also share memory that programs made with shm_open and register by its name");
}

void AddLimitOptions(CLI::App& app, ServerOptions& server, RawValues& raw) {
  AddSize(app, "--max-message-bytes", server.max_message_bytes, "257MiB", 4 * kKiB, 2048 * kMiB - 1,
          "Largest message in each direction, 4KiB to 2047MiB; sizes take the units KiB, MiB and "
          "GiB");
  AddSize(app, "--max-tensor-bytes", server.validation.max_tensor_bytes, "256MiB", 8,
          kHighestTensorLimit, "Largest tensor, padding included, 8 to 1TiB");
  app.add_option("--max-elements", server.validation.max_elements,
                 "Most elements of a tensor, up to 4294967295, DirectML's own limit")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{std::numeric_limits<uint32_t>::max()}));
  app.add_option("--max-concurrent-requests", server.admission.max_requests,
                 "Most requests accepted and not yet answered, up to 1000000; further ones get "
                 "RESOURCE_EXHAUSTED")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{1000000}));
  app.add_option("--max-concurrent-requests-per-client", server.admission.max_requests_per_client,
                 "Most of them of one client: an address, or a user of a socket file")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{1000000}));
  AddSize(app, "--max-queued-bytes", server.admission.max_bytes, "1GiB", 4 * kKiB, kTiB,
          "Most bytes of inputs and outputs held by accepted requests, 4KiB to 1TiB; further "
          "requests get RESOURCE_EXHAUSTED");
  AddSize(app, "--max-queued-bytes-per-client", server.admission.max_bytes_per_client, "768MiB",
          4 * kKiB, kTiB, "Most of these bytes of one client, 4KiB to 1TiB");
  AddSize(app, "--max-transport-bytes", server.max_transport_bytes, "2GiB", 64 * kMiB, kTiB,
          "Most bytes of messages that are being received or sent, 64MiB to 1TiB; beyond it calls "
          "fail with RESOURCE_EXHAUSTED");
  AddSize(
      app, "--max-transport-bytes-per-client", server.max_transport_bytes_per_client, "1GiB",
      4 * kKiB, kTiB,
      "Most bytes of messages that one client sends at a time, 4KiB to 1TiB; one of the largest "
      "may always come");
  app.add_option(
         "--stall-limit", raw.stall_limit_s,
         "Longest time that a client may keep a call waiting, 1 to 86400; unary answers get "
         "a second more per MiB")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{86400}));
  AddSize(app, "--idle-buffer-bytes", server.idle_buffer_bytes, "256MiB", 0, kTiB,
          "Memory of tensors that is kept for later ones when their requests are done, up to 1TiB");
  AddSize(app, "--max-stream-bytes", server.max_stream_bytes, "512MiB", 4 * kKiB, kTiB,
          "Most bytes of inputs and outputs that one stream has under way, 4KiB to 1TiB; a stream "
          "that has more is not read until answers have gone");
  AddSize(
      app, "--stream-window-bytes", server.stream_window_bytes, "8MiB", 4 * kKiB, kTiB,
      "Most bytes of inputs and outputs held of a request that is computed while it comes, 4KiB "
      "to 1TiB, whatever the size of its tensors");
  AddSize(app, "--max-resident-bytes", server.tensors.max_bytes, "2GiB", 0, kTiB,
          "Most bytes of resident tensors, up to 1TiB; 0: none are kept");
  AddSize(app, "--max-resident-bytes-per-client", server.tensors.max_bytes_per_client, "1GiB", 0,
          kTiB, "Most bytes of resident tensors of one client, up to 1TiB");
  app.add_option("--max-resident-tensors", server.tensors.max_tensors,
                 "Most resident tensors, up to 1000000")
      ->capture_default_str()
      ->check(Between(size_t{0}, size_t{1000000}));
  app.add_option("--max-resident-tensors-per-client", server.tensors.max_tensors_per_client,
                 "Most resident tensors of one client, up to 1000000")
      ->capture_default_str()
      ->check(Between(size_t{0}, size_t{1000000}));
  app.add_option("--lease", raw.lease_s,
                 "Lease of a resident tensor whose client asks for none, up to 31536000")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, kYearInSeconds));
  app.add_option("--max-lease", raw.max_lease_s, "Longest lease that is granted, up to 31536000")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, kYearInSeconds));
  app.add_option("--max-sequence-steps", server.max_sequence_steps,
                 "Most operators of one sequence, up to 4096")
      ->capture_default_str()
      ->check(Between(size_t{1}, size_t{4096}));
  app.add_option("--request-cache-entries", server.request_cache_entries,
                 "Validated calls to remember, up to 1000000; 0: none")
      ->capture_default_str()
      ->check(Between(size_t{0}, size_t{1000000}));
}

void AddDeviceOptions(CLI::App& app, ProgramOptions& options, RawValues& raw) {
  GpuOptions& gpu = options.gpu;
  app.add_option("--devices", gpu.devices,
                 "GPUs to use, by number or part of the name, separated by commas; auto: all "
                 "hardware adapters; none: the processor alone")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("auto");
  app.add_flag("--allow-software-adapters", gpu.allow_software,
               "Also use adapters whose work is done by the processor; slower than opserve's own "
               "CPU kernels, for tests");
  app.add_option("--device-instances", gpu.instances, "Devices made for each adapter, up to 16")
      ->capture_default_str()
      ->check(Between(1, 16));
  AddSize(app, "--device-memory", gpu.memory_bytes, "auto", kMiB, kTiB,
          "Most memory that the tensors of one device take, 1MiB to 1TiB; auto: three quarters of "
          "what its driver says there is, a quarter where that is the machine's. What there is "
          "bounds a size, too");
  app.add_option("--device-timeout", raw.device_timeout_s,
                 "Time after which a device that does not finish counts as lost, plus one that "
                 "grows with the bytes, up to 3600")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{3600}));
  app.add_option("--placement", raw.placement,
                 "Where requests run that do not say: auto (where the answer is expected first), "
                 "gpu or cpu")
      ->type_name("PLACEMENT")
      ->capture_default_str()
      ->check(CLI::IsMember(kPlacements).description(""));
  app.add_flag("--list-devices", options.list_devices,
               "Print the adapters that --devices can name, and exit")
      ->configurable(false);
}

// The client and the weight of "CLIENT=WEIGHT"; nullopt if that is not what `text` is.
std::optional<std::pair<std::string, double>> ParseClientWeight(const std::string& text) {
  constexpr double kMostWeight = 1e6;
  const size_t equals = text.rfind('=');
  double weight = 0;
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  if (!absl::SimpleAtod(text.substr(equals + 1), &weight)) return std::nullopt;
  if (!(weight > 0 && weight <= kMostWeight)) return std::nullopt;
  return std::pair(text.substr(0, equals), weight);
}

CLI::Validator IsClientWeight() {
  return CLI::Validator(
      [](const std::string& text) {
        // Empty, as --print-config writes that there is none.
        return text.empty() || ParseClientWeight(text)
                   ? std::string()
                   : absl::StrCat("Value ", text,
                                  " is no CLIENT=WEIGHT with a weight above 0 and up to 1000000");
      },
      "");
}

void AddBatchOptions(CLI::App& app, PoolOptions& pool, RawValues& raw) {
  app.add_option("--max-batch-requests", pool.batch.max_requests,
                 "Most requests that run as one batch on a GPU, up to 65536; 1: no batches")
      ->capture_default_str()
      ->check(Between(size_t{1}, size_t{65536}));
  AddSize(app, "--max-batch-bytes", pool.batch.max_bytes, "64MiB", 4 * kKiB, kTiB,
          "Most bytes of inputs and outputs of a batch, 4KiB to 1TiB; a larger request runs alone");
  app.add_option("--max-batch-delay", raw.max_batch_delay_us,
                 "Longest that a busy GPU lets a request wait for company, up to 1000000; an idle "
                 "one starts at once")
      ->type_name("MICROSECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{0}, uint64_t{1000000}));
  app.add_option("--client-weight", raw.client_weights,
                 "Share of a client, as HOST=WEIGHT or HOST/NAME=WEIGHT; others have 1; may be "
                 "repeated")
      ->type_name("CLIENT=WEIGHT")
      ->allow_extra_args(false)
      ->check(IsClientWeight());
  app.add_option("--verify", pool.verify_rate,
                 "Share of the GPU results that is compared with the processor's, 0 to 1")
      ->type_name("RATE")
      ->capture_default_str()
      ->check(IsRate());
  app.add_option("--quarantine-after", pool.health.max_mismatches,
                 "Wrong results after which a GPU takes no requests until it passes a test, up to "
                 "1000000")
      ->capture_default_str()
      ->check(Between(1, 1000000));
  app.add_option("--device-retry", raw.device_retry_s,
                 "Time from the loss of a GPU to the first attempt to make it anew, 1 to 86400; "
                 "doubles after each that fails")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{86400}));
  app.add_option("--max-device-retry", raw.max_device_retry_s,
                 "Longest that it becomes, 1 to 86400; a GPU that has worked for so long starts "
                 "over with --device-retry")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{86400}));
}

void AddProcessOptions(CLI::App& app, ProgramOptions& options, RawValues& raw) {
  app.add_option("--drain-timeout", raw.drain_timeout_s,
                 "Longest wait in seconds for accepted requests after SIGTERM or SIGINT, up to "
                 "86400")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{0}, uint64_t{86400}));
  app.add_option("--drain-stall-limit", raw.drain_stall_limit_s,
                 "Longest that a client may keep a call waiting meanwhile, 1 to 86400")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(Between(uint64_t{1}, uint64_t{86400}));
  AddSize(app, "--keep-heap", options.keep_heap_bytes, "64MiB", 0, 2048 * kMiB - 1,
          "Freed memory that each heap of the allocator keeps for later, up to 2047MiB; 0: as much "
          "as it does by itself");
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

// Throws where the longest is not the longest.
void CheckDeviceRetry(const CLI::App& app, const RawValues& raw) {
  if (raw.max_device_retry_s >= raw.device_retry_s) return;
  // Named first is what somebody has set, so that they are told where.
  if (app.count("--max-device-retry") == 0) {
    throw CLI::ValidationError(
        "--device-retry", absl::StrCat(raw.device_retry_s, " is more than --max-device-retry, ",
                                       raw.max_device_retry_s));
  }
  throw CLI::ValidationError(
      "--max-device-retry",
      absl::StrCat(raw.max_device_retry_s, " is less than --device-retry, ", raw.device_retry_s));
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
  const auto config = std::make_shared<ConfigFile>(app);
  app.config_formatter(config);
  AddNetworkOptions(app, options.server);
  AddSocketOptions(app, options.server.edge.socket_files);
  AddAccessOptions(app, options.server);
  AddThreadOptions(app, options.server);
  AddDeviceOptions(app, options, raw);
  AddBatchOptions(app, options.server.pool, raw);
  AddRegionOptions(app, options.server.regions, raw);
  AddLimitOptions(app, options.server, raw);
  AddDeviceLeaseOptions(app, options.server.device_leases);
  AddObservationOptions(app, options.server);
  AddProcessOptions(app, options, raw);
  try {
    app.parse(WordsToParse(app, {argv + 1, argv + argc}));
    CheckDeviceRetry(app, raw);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return EarlyExit{0, absl::StrCat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) {
    const auto file = app.get_config_ptr()->as<std::string>();
    return EarlyExit{kExitUsage, absl::StrCat("opserve-server: ",
                                              config->Locate(error, file, {argv + 1, argv + argc}),
                                              "\nTry opserve-server --help.\n")};
  }
  if (raw.print_config) return EarlyExit{0, app.config_to_str(true, true)};
  options.drain_timeout = std::chrono::seconds(raw.drain_timeout_s);
  options.log_format = EnumOf<LogFormat>(kLogFormats, raw.log_format);
  options.server.placement = EnumOf<Placement>(kPlacements, raw.placement);
  options.server.pool.batch.max_delay = std::chrono::microseconds(raw.max_batch_delay_us);
  options.server.regions.is_on = EnumOf<bool>(kSwitch, raw.regions);
  options.server.stall_limit = std::chrono::seconds(raw.stall_limit_s);
  options.server.drain_stall_limit = std::chrono::seconds(raw.drain_stall_limit_s);
  options.server.regions.idle_limit = std::chrono::seconds(raw.region_idle_limit_s);
  options.server.tensors.default_ttl = std::chrono::seconds(raw.lease_s);
  options.server.tensors.max_ttl = std::chrono::seconds(raw.max_lease_s);
  for (const std::string& text : raw.client_weights) {
    if (const auto weight = ParseClientWeight(text)) {
      options.server.pool.batch.client_weights.insert(*weight);
    }
  }
  options.gpu.timeout = std::chrono::seconds(raw.device_timeout_s);
  options.server.pool.health.min_backoff = std::chrono::seconds(raw.device_retry_s);
  options.server.pool.health.max_backoff = std::chrono::seconds(raw.max_device_retry_s);
  options.log_level = EnumOf<LogLevel>(kLogLevels, raw.log_level);
  return options;
}

}  // namespace opserve
