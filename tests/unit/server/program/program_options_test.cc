#include "server/program/program_options.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::variant<ProgramOptions, EarlyExit> Parse(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"opserve-server"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return ParseProgramOptions(static_cast<int>(argv.size()), argv.data());
}

ProgramOptions Options(const std::vector<std::string>& arguments) {
  auto parsed = Parse(arguments);
  if (const auto* exit = std::get_if<EarlyExit>(&parsed)) ADD_FAILURE() << exit->text;
  auto* options = std::get_if<ProgramOptions>(&parsed);
  return options != nullptr ? *options : ProgramOptions();
}

EarlyExit Exit(const std::vector<std::string>& arguments) {
  auto parsed = Parse(arguments);
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  EXPECT_NE(exit, nullptr);
  return exit != nullptr ? *exit : EarlyExit();
}

// A file with the given text, gone with the object.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
    close(mkstemp(name.data()));
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Golden(const std::string& name) {
  std::ifstream file(OPSERVE_GOLDEN_DIR "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// To accept a change of wording: opserve-server --help > tests/golden/opserve-server-help.txt
TEST(ProgramOptionsTest, HelpIsAsReviewed) {
  EXPECT_EQ(Exit({"--help"}).text, Golden("opserve-server-help.txt"));
  EXPECT_EQ(Exit({"--help"}).code, 0);
}

TEST(ProgramOptionsTest, PrintedConfigurationIsAsReviewed) {
  EXPECT_EQ(Exit({"--print-config"}).text, Golden("opserve-server-config.toml"));
  EXPECT_EQ(Exit({"--print-config"}).code, 0);
}

TEST(ProgramOptionsTest, DefaultsAreThoseOfTheServer) {
  const ProgramOptions options = Options({});
  const ServerOptions defaults;
  EXPECT_EQ(options.server.listen, defaults.listen);
  EXPECT_EQ(options.server.max_message_bytes, defaults.max_message_bytes);
  EXPECT_EQ(options.log_level, LogLevel::kInfo);
}

void ExpectSamePool(const PoolOptions& pool, const PoolOptions& other) {
  EXPECT_EQ(pool.batch.max_requests, other.batch.max_requests);
  EXPECT_EQ(pool.batch.max_bytes, other.batch.max_bytes);
  EXPECT_EQ(pool.batch.max_delay, other.batch.max_delay);
  EXPECT_EQ(pool.batch.client_weights, other.batch.client_weights);
  EXPECT_EQ(pool.verify_rate, other.verify_rate);
  EXPECT_EQ(pool.health.max_mismatches, other.health.max_mismatches);
  EXPECT_EQ(pool.health.min_backoff, other.health.min_backoff);
  EXPECT_EQ(pool.health.max_backoff, other.health.max_backoff);
}

void ExpectSameGpu(const GpuOptions& gpu, const GpuOptions& other) {
  EXPECT_EQ(gpu.devices, other.devices);
  EXPECT_EQ(gpu.allow_software, other.allow_software);
  EXPECT_EQ(gpu.instances, other.instances);
  EXPECT_EQ(gpu.memory_bytes, other.memory_bytes);
  EXPECT_EQ(gpu.timeout, other.timeout);
}

// The printed texts of the defaults are written by hand; this holds them to the truth.
TEST(ProgramOptionsTest, PrintedDefaultsAreTheDefaults) {
  const TextFile printed(Exit({"--print-config"}).text);
  const ProgramOptions options = Options({"--config", printed.path()});
  const ProgramOptions defaults;
  EXPECT_EQ(options.server.listen, defaults.server.listen);
  EXPECT_EQ(options.server.workers, defaults.server.workers);
  EXPECT_EQ(options.server.cpu_threads, defaults.server.cpu_threads);
  EXPECT_EQ(options.server.max_message_bytes, defaults.server.max_message_bytes);
  EXPECT_EQ(options.server.admission.max_requests, defaults.server.admission.max_requests);
  EXPECT_EQ(options.server.admission.max_bytes, defaults.server.admission.max_bytes);
  EXPECT_EQ(options.server.validation.max_elements, defaults.server.validation.max_elements);
  EXPECT_EQ(options.server.validation.max_tensor_bytes,
            defaults.server.validation.max_tensor_bytes);
  EXPECT_EQ(options.server.request_cache_entries, defaults.server.request_cache_entries);
  EXPECT_EQ(options.server.placement, defaults.server.placement);
  ExpectSamePool(options.server.pool, defaults.server.pool);
  ExpectSameGpu(options.gpu, defaults.gpu);
  EXPECT_EQ(options.drain_timeout, defaults.drain_timeout);
  EXPECT_EQ(options.server.drain_stall_limit, defaults.server.drain_stall_limit);
  EXPECT_EQ(options.log_format, defaults.log_format);
  EXPECT_EQ(options.log_level, defaults.log_level);
  EXPECT_EQ(options.ready_file, "");
}

const std::vector<std::string>& EveryFlag() {
  static const std::vector<std::string> flags = {"--listen",
                                                 "[::1]:0",
                                                 "--listen",
                                                 "unix:/run/x.sock",
                                                 "--tls-certificate",
                                                 "cert.pem",
                                                 "--tls-key",
                                                 "key.pem",
                                                 "--socket-mode",
                                                 "0660",
                                                 "--socket-group",
                                                 "users",
                                                 "--workers",
                                                 "3",
                                                 "--cpu-threads",
                                                 "5",
                                                 "--devices",
                                                 "0,nvidia",
                                                 "--allow-software-adapters",
                                                 "--device-instances",
                                                 "2",
                                                 "--device-memory",
                                                 "2GiB",
                                                 "--device-timeout",
                                                 "30",
                                                 "--placement",
                                                 "gpu",
                                                 "--max-batch-requests",
                                                 "64",
                                                 "--max-batch-bytes",
                                                 "1MiB",
                                                 "--max-batch-delay",
                                                 "250",
                                                 "--client-weight",
                                                 "10.0.0.7=3",
                                                 "--client-weight",
                                                 "10.0.0.8/a=b=0.5",
                                                 "--verify",
                                                 "0.25",
                                                 "--quarantine-after",
                                                 "5",
                                                 "--device-retry",
                                                 "3",
                                                 "--max-device-retry",
                                                 "40",
                                                 "--idle-buffer-bytes",
                                                 "0",
                                                 "--posix-shared-memory",
                                                 "--max-message-bytes",
                                                 "64MiB",
                                                 "--max-tensor-bytes",
                                                 "1048576",
                                                 "--max-elements",
                                                 "1000",
                                                 "--max-concurrent-requests",
                                                 "17",
                                                 "--max-queued-bytes",
                                                 "3GiB",
                                                 "--max-sequence-steps",
                                                 "7",
                                                 "--request-cache-entries",
                                                 "0",
                                                 "--drain-timeout",
                                                 "90",
                                                 "--drain-stall-limit",
                                                 "3",
                                                 "--log-format",
                                                 "json",
                                                 "--log-level",
                                                 "debug",
                                                 "--ready-file",
                                                 "/run/ready #1"};
  return flags;
}

void ExpectEveryFlag(const ProgramOptions& options) {
  EXPECT_THAT(options.server.listen, ElementsAre("[::1]:0", "unix:/run/x.sock"));
  EXPECT_EQ(options.server.tls_certificate, "cert.pem");
  EXPECT_EQ(options.server.tls_key, "key.pem");
  EXPECT_EQ(options.server.edge.socket_files.mode, mode_t{0660});
  EXPECT_EQ(options.server.edge.socket_files.group, "users");
  EXPECT_EQ(options.server.workers, 3);
  EXPECT_EQ(options.server.cpu_threads, 5);
  EXPECT_THAT(options.gpu.devices, ElementsAre("0", "nvidia"));
  EXPECT_TRUE(options.gpu.allow_software);
  EXPECT_EQ(options.gpu.instances, 2);
  EXPECT_EQ(options.gpu.memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options.gpu.timeout, std::chrono::seconds(30));
  EXPECT_EQ(options.server.placement, Placement::kGpu);
  const PoolOptions& pool = options.server.pool;
  EXPECT_EQ(pool.batch.max_requests, 64u);
  EXPECT_EQ(pool.batch.max_bytes, 1u << 20);
  EXPECT_EQ(pool.batch.max_delay, std::chrono::microseconds(250));
  EXPECT_THAT(pool.batch.client_weights,
              UnorderedElementsAre(Pair("10.0.0.7", 3), Pair("10.0.0.8/a=b", 0.5)));
  EXPECT_EQ(pool.verify_rate, 0.25);
  EXPECT_EQ(pool.health.max_mismatches, 5);
  EXPECT_EQ(pool.health.min_backoff, std::chrono::seconds(3));
  EXPECT_EQ(pool.health.max_backoff, std::chrono::seconds(40));
  EXPECT_EQ(options.server.idle_buffer_bytes, 0u);
  EXPECT_TRUE(options.server.regions.posix_shared_memory);
  EXPECT_EQ(options.server.max_message_bytes, 64u << 20);
  EXPECT_EQ(options.server.validation.max_tensor_bytes, 1u << 20);
  EXPECT_EQ(options.server.validation.max_elements, 1000u);
  EXPECT_EQ(options.server.admission.max_requests, 17u);
  EXPECT_EQ(options.server.admission.max_bytes, uint64_t{3} << 30);
  EXPECT_EQ(options.server.max_sequence_steps, 7u);
  EXPECT_EQ(options.server.request_cache_entries, 0u);
  EXPECT_EQ(options.drain_timeout, std::chrono::seconds(90));
  EXPECT_EQ(options.server.drain_stall_limit, std::chrono::seconds(3));
  EXPECT_EQ(options.log_format, LogFormat::kJson);
  EXPECT_EQ(options.log_level, LogLevel::kDebug);
  EXPECT_EQ(options.ready_file, "/run/ready #1");
}

TEST(ProgramOptionsTest, EveryFlagCounts) { ExpectEveryFlag(Options(EveryFlag())); }

TEST(ProgramOptionsTest, EverySettingGoesThroughAFile) {
  std::vector<std::string> print = EveryFlag();
  print.push_back("--print-config");
  const std::string printed = Exit(print).text;
  const TextFile file(printed);
  ExpectEveryFlag(Options({"--config", file.path()}));
  EXPECT_EQ(Exit({"--config", file.path(), "--print-config"}).text, printed);
}

TEST(ProgramOptionsTest, FlagsWinOverTheFile) {
  const TextFile file("workers=7\nlog-level=\"warn\"\nlisten=\"localhost:1\"\n");
  const ProgramOptions options =
      Options({"--config", file.path(), "--workers", "8", "--listen", "localhost:2"});
  EXPECT_EQ(options.server.workers, 8);
  EXPECT_THAT(options.server.listen, ElementsAre("localhost:2"));
  EXPECT_EQ(options.log_level, LogLevel::kWarn);
}

TEST(ProgramOptionsTest, FlagsMayHaveEmptyValues) {
  const ProgramOptions options = Options({"--access-log=", "--policy=p.toml", "--advertise="});
  EXPECT_EQ(options.server.access_log, "");
  EXPECT_EQ(options.server.access.policy_file, "p.toml");
  EXPECT_EQ(options.server.advertise, "");
  EXPECT_EQ(Exit({"--pollers=", "3"}).code, kExitUsage);
}

TEST(ProgramOptionsTest, SizesTakeUnits) {
  EXPECT_EQ(Options({"--max-queued-bytes", "8192"}).server.admission.max_bytes, 8192u);
  EXPECT_EQ(Options({"--max-queued-bytes", "8KiB"}).server.admission.max_bytes, 8192u);
  EXPECT_EQ(Options({"--max-queued-bytes", "2 gb"}).server.admission.max_bytes, 2ull << 30);
}

TEST(ProgramOptionsTest, MemoryOfDevicesMayBeWhatThereIs) {
  EXPECT_EQ(Options({"--device-memory", "auto"}).gpu.memory_bytes, UINT64_MAX);
  EXPECT_EQ(Options({"--device-memory", "3MiB"}).gpu.memory_bytes, 3ull << 20);
}

TEST(ProgramOptionsTest, WrongUsageSaysWhatIsWrong) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--no-such-flag"}, "--no-such-flag"},
      {{"argument"}, "argument"},
      {{"--workers"}, "--workers"},
      {{"--workers", "-1"}, "0 to 1024"},
      {{"--workers", "1025"}, "0 to 1024"},
      {{"--workers", "many"}, "many"},
      {{"--devices", "none", "word"}, "word"},
      {{"--placement", "fpga"}, "auto,gpu,cpu"},
      {{"--verify", "1.5"}, "0 to 1"},
      {{"--verify", "-0.1"}, "0 to 1"},
      {{"--verify", "nan"}, "0 to 1"},
      {{"--client-weight", "runner"}, "CLIENT=WEIGHT"},
      {{"--client-weight", "runner=0"}, "above 0"},
      {{"--client-weight", "=2"}, "CLIENT=WEIGHT"},
      {{"--max-batch-requests", "0"}, "1 to 65536"},
      {{"--device-instances", "17"}, "1 to 16"},
      {{"--max-message-bytes", "2GiB"}, "2147483647"},
      {{"--max-message-bytes", "4095"}, "4096"},
      {{"--max-queued-bytes", "64XB"}, "unit"},
      {{"--max-queued-bytes", "auto"}, "unit"},
      {{"--device-memory", "automatic"}, "unit"},
      {{"--device-memory", "1MB", "--device-memory", "12"}, "--device-memory"},
      {{"--max-queued-bytes", "-5"}, "--max-queued-bytes"},
      {{"--max-queued-bytes", "99999999999999999999"}, "--max-queued-bytes"},
      {{"--max-concurrent-requests", "0"}, "1 to 1000000"},
      {{"--listen", "localhost"}, "no port"},
      {{"--tls-key", "key.pem"}, "--tls-certificate"},
      {{"--tls-certificate", "cert.pem"}, "--tls-key"},
      {{"--device-retry", "0"}, "1 to 86400"},
      {{"--device-retry", "61"}, "--device-retry: 61 is more than --max-device-retry, 60"},
      {{"--log-format", "xml"}, "text,json"},
      {{"--log-level", "loud"}, "debug"},
      {{"--config", "/no/such/file"}, "/no/such/file"},
  };
  for (const auto& [arguments, why] : cases) {
    const EarlyExit exit = Exit(arguments);
    EXPECT_EQ(exit.code, kExitUsage) << arguments[0];
    EXPECT_THAT(exit.text, HasSubstr(why));
  }
}

TEST(ProgramOptionsTest, FilesCannotHoldWhatNobodyReads) {
  const TextFile misspelt("wrokers=7\n");
  EXPECT_EQ(Exit({"--config", misspelt.path()}).code, kExitUsage);
  EXPECT_THAT(Exit({"--config", misspelt.path()}).text, HasSubstr("wrokers"));
  const TextFile out_of_range("workers=1025\n");
  EXPECT_EQ(Exit({"--config", out_of_range.path()}).code, kExitUsage);
}

}  // namespace
}  // namespace opserve::testing
