// The program as its users run it: start, signals, files, exit codes.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "proto/base/mutex.h"
#include "server/base/small_file.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_server.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Ids of the requests that the log, in JSON at level debug, calls answered.
std::set<std::string> AnsweredIds(const std::string& log) {
  std::set<std::string> ids;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    const std::string text(line);
    if (text.find("\"request answered\"") == std::string::npos) continue;
    const std::string key = "\"id\":\"";
    const size_t begin = text.find(key) + key.size();
    ids.insert(text.substr(begin, text.find('"', begin) - begin));
  }
  return ids;
}

// Clients that send requests without pause until the server refuses them.
class Load {
 public:
  Load(const std::string& address, int clients) {
    for (int i = 0; i < clients; ++i) {
      threads_.emplace_back([this, address, i] { Run(address, i); });
    }
  }
  ~Load() { Join(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void Join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  // Waits until `count` requests are answered, or a client has ended.
  void WaitAnswered(size_t count) {
    while (answered_count_ < count && !ended_) std::this_thread::yield();
  }
  std::set<std::string> answered() {
    const MutexLock lock(mutex_);
    return answered_;
  }
  std::set<grpc::StatusCode> errors() {
    const MutexLock lock(mutex_);
    return errors_;
  }

 private:
  void Run(const std::string& address, int client) {
    const auto stub = v1::OperatorService::NewStub(ConnectTo(address));
    v1::ExecuteRequest request = RoundRequest(std::vector<float>(100'000, 1.5f));
    for (int i = 0;; ++i) {
      request.set_request_id(absl::StrCat(client, "/", i));
      grpc::ClientContext context;
      v1::ExecuteResponse response;
      const grpc::Status status = stub->Execute(&context, request, &response);
      const MutexLock lock(mutex_);
      if (status.ok()) {
        answered_.insert(response.request_id());
        ++answered_count_;
        continue;
      }
      errors_.insert(status.error_code());
      ended_ = true;
      return;
    }
  }

  Mutex mutex_;
  std::set<std::string> answered_ ABSL_GUARDED_BY(mutex_);
  std::set<grpc::StatusCode> errors_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> answered_count_{0};
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

// A call whose client does not read the answer, which is too large for the buffers in between: it
// is accepted and stays unanswered as long as this object lives.
class StuckCall {
 public:
  explicit StuckCall(const std::string& address, uint32_t elements = 16 << 20)
      : stub_(ConnectTo(address)) {
    v1::ExecuteRequest request = RoundRequest({1.5f});
    request.mutable_inputs(0)->set_sizes(0, elements);
    request.mutable_inputs(0)->add_strides(0);
    const grpc::Slice slice(request.SerializeAsString());
    call_ = stub_.PrepareCall(&context_, "/opserve.v1.OperatorService/Execute", &queue_);
    call_->StartCall(nullptr);
    Wait();
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    Wait();
  }
  ~StuckCall() {
    context_.TryCancel();
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Wait();
    queue_.Shutdown();
    Wait();
  }
  StuckCall(const StuckCall&) = delete;
  StuckCall& operator=(const StuckCall&) = delete;

 private:
  void Wait() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

TEST(ProcessTest, EndsWithThreeIfTheDrainTimesOut) {
  const TemporaryFolder folder;
  const std::string metrics = "unix:" + (folder.path() / "metrics").string();
  ServerProcess server(ServerProcess::Serving(folder.path()) +
                       std::vector<std::string>{"--drain-timeout", "0", "--log-level", "debug",
                                                "--metrics-listen", metrics});
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(1));
  const StuckCall call(addresses[0]);
  ASSERT_TRUE(server.WaitOutput("request answered"));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 3) << server.Output();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ProcessTest, EndsWithFourAtTheSecondSignal) {
  const TemporaryFolder folder;
  const std::string socket = "unix:" + (folder.path() / "socket").string();
  ServerProcess server(ServerProcess::Serving(folder.path()) +
                       std::vector<std::string>{"--listen", socket, "--log-level", "debug"});
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(2));
  const StuckCall call(addresses[0]);
  ASSERT_TRUE(server.WaitOutput("request answered"));
  server.Signal(SIGTERM);
  ASSERT_TRUE(server.WaitOutput("draining requests=1"));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 4) << server.Output();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// One that comes once the drain is over finds no server any more: that is no reason to crash.
TEST(ProcessTest, EndsWithZeroWhereTheSecondSignalComesAfterTheDrain) {
  for (int i = 0; i < 20; ++i) {
    const TemporaryFolder folder;
    ServerProcess server(ServerProcess::Serving(folder.path()));
    ASSERT_THAT(server.WaitReady(folder.path()), SizeIs(1)) << server.Output();
    server.Signal(SIGTERM);
    ASSERT_TRUE(WaitUntil([&] { return !std::filesystem::exists(folder.path() / "ready"); }));
    server.Signal(SIGTERM);
    ASSERT_EQ(server.WaitExit(), 0) << server.Output();
  }
}

// Clients that do not move hold nothing up: one takes no answer, one has begun a call and sends no
// message, one has announced payloads on a stream and sends none.
TEST(ProcessTest, TheDrainWaitsForNoClientThatDoesNotMove) {
  const TemporaryFolder folder;
  ServerProcess server(
      ServerProcess::Serving(folder.path()) +
      std::vector<std::string>{"--drain-stall-limit", "1", "--log-level", "debug"});
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(1));
  const StuckCall reader(addresses[0], 4 << 20);
  ASSERT_TRUE(server.WaitOutput("request answered"));
  RawStream begun(ConnectTo(addresses[0]), "/opserve.v1.OperatorService/Execute");
  RawStream announced(ConnectTo(addresses[0]), "/opserve.v1.OperatorService/ExecuteStream");
  v1::ExecuteStreamRequest request;
  request.set_id(1);
  *request.mutable_request() = RoundRequest({1.5f});
  request.mutable_request()->clear_payloads();
  request.add_payload_bytes(4);
  ASSERT_TRUE(announced.Write(request.SerializeAsString()));
  // The answer to another request tells that the server has read the one before.
  request.set_id(2);
  request.clear_payload_bytes();
  request.add_payloads(BytesOf<float>({1.5f}));
  ASSERT_TRUE(announced.Write(request.SerializeAsString()));
  ASSERT_TRUE(announced.Read());
  server.Signal(SIGTERM);
  // Two, or three where the one that was answered is not yet forgotten.
  ASSERT_TRUE(server.WaitOutput("draining requests="));
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
}

TEST(ProcessTest, SighupDoesNotStopTheServer) {
  const TemporaryFolder folder;
  ServerProcess server(ServerProcess::Serving(folder.path()));
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(1));
  server.Signal(SIGHUP);
  ASSERT_TRUE(server.WaitOutput("signal received signal=1\n"));
  const auto stub = v1::OperatorService::NewStub(ConnectTo(addresses[0]));
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  EXPECT_TRUE(stub->Execute(&context, RoundRequest({1}), &response).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
}

// What the server has to say then is lost, and nothing else is.
TEST(ProcessTest, WorksOnOnceNobodyReadsItsLog) {
  const TemporaryFolder folder;
  std::array<int, 2> log = {};
  ASSERT_EQ(pipe2(log.data(), O_CLOEXEC), 0);
  ServerProcess server(
      ServerProcess::Serving(folder.path()) + std::vector<std::string>{"--log-level", "debug"},
      log[1]);
  close(log[1]);
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  close(log[0]);
  ASSERT_THAT(addresses, SizeIs(1));
  server.Signal(SIGHUP);
  const auto stub = v1::OperatorService::NewStub(ConnectTo(addresses[0]));
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  EXPECT_TRUE(stub->Execute(&context, RoundRequest({1}), &response).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0);
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// A connection of its own that trusts one certificate only.
class TlsConnection {
 public:
  TlsConnection(const std::string& address, const std::filesystem::path& certificate) {
    grpc::SslCredentialsOptions trust;
    trust.pem_root_certs = ReadText(certificate);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::OperatorService::NewStub(
        grpc::CreateCustomChannel(address, grpc::SslCredentials(trust), arguments));
  }
  bool Works() {
    grpc::ClientContext context;
    v1::ExecuteResponse response;
    return stub_->Execute(&context, RoundRequest({1}), &response).ok();
  }

 private:
  std::unique_ptr<v1::OperatorService::Stub> stub_;
};

TEST(ProcessTest, SighupReadsTheCertificateAgain) {
  const std::filesystem::path data = std::filesystem::path(OPSERVE_TEST_DATA) / "tls";
  const TemporaryFolder folder;
  const TemporaryFolder files;
  const auto certificate = files.path() / "certificate.pem";
  const auto key = files.path() / "key.pem";
  const auto put = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  };
  put(data / "certificate.pem", certificate);
  put(data / "key.pem", key);
  // Two addresses: each has a certificate of its own in gRPC.
  ServerProcess server(ServerProcess::Serving(folder.path()) +
                       std::vector<std::string>{"--listen", "127.0.0.1:0", "--tls-certificate",
                                                certificate.string(), "--tls-key", key.string()});
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(2));
  TlsConnection old(addresses[0], data / "certificate.pem");
  EXPECT_TRUE(old.Works());

  // The key of another certificate: nothing changes.
  put(data / "other_key.pem", key);
  server.Signal(SIGHUP);
  ASSERT_TRUE(server.WaitOutput("certificate kept"));
  EXPECT_THAT(server.Output(), HasSubstr(key.string()));
  EXPECT_TRUE(TlsConnection(addresses[0], data / "certificate.pem").Works());

  // One for the same key that OpenSSL takes for no connection.
  put(data / "weak_certificate.pem", certificate);
  put(data / "key.pem", key);
  server.Signal(SIGHUP);
  ASSERT_TRUE(server.WaitOutput(certificate.string() + " cannot be used: "));
  EXPECT_TRUE(TlsConnection(addresses[0], data / "certificate.pem").Works());

  put(data / "other_certificate.pem", certificate);
  put(data / "other_key.pem", key);
  server.Signal(SIGHUP);
  ASSERT_TRUE(server.WaitOutput("certificate read"));
  for (const std::string& address : addresses) {
    EXPECT_TRUE(TlsConnection(address, data / "other_certificate.pem").Works());
    EXPECT_FALSE(TlsConnection(address, data / "certificate.pem").Works());
  }
  EXPECT_TRUE(old.Works());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
}

TEST(ProcessTest, TheCertificateIsReadAgainWhenItsFilesChange) {
  const std::filesystem::path data = std::filesystem::path(OPSERVE_TEST_DATA) / "tls";
  const TemporaryFolder folder;
  const TemporaryFolder files;
  const auto certificate = files.path() / "certificate.pem";
  const auto key = files.path() / "key.pem";
  std::filesystem::copy_file(data / "certificate.pem", certificate);
  std::filesystem::copy_file(data / "key.pem", key);
  ServerProcess server(ServerProcess::Serving(folder.path()) +
                       std::vector<std::string>{"--tls-certificate", certificate.string(),
                                                "--tls-key", key.string()});
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(1));
  TlsConnection old(addresses[0], data / "certificate.pem");
  EXPECT_TRUE(old.Works());

  // Half a change is none.
  ASSERT_TRUE(ReplaceFile(key.string(), ReadText(data / "other_key.pem")).ok());
  ASSERT_TRUE(server.WaitOutput("certificate kept"));
  EXPECT_THAT(server.Output(), HasSubstr(key.string() + " is not that of the first certificate"));
  EXPECT_TRUE(TlsConnection(addresses[0], data / "certificate.pem").Works());

  ASSERT_TRUE(ReplaceFile(certificate.string(), ReadText(data / "other_certificate.pem")).ok());
  ASSERT_TRUE(server.WaitOutput("certificate read"));
  EXPECT_TRUE(TlsConnection(addresses[0], data / "other_certificate.pem").Works());
  EXPECT_FALSE(TlsConnection(addresses[0], data / "certificate.pem").Works());
  EXPECT_TRUE(old.Works());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
}

// Also where the clients get no time to read their answers for seconds.
TEST(ProcessTest, SigtermUnderLoadLosesNothing) {
  const TemporaryFolder folder;
  ServerProcess server(ServerProcess::Serving(folder.path()) +
                       std::vector<std::string>{"--log-format", "json", "--log-level", "debug",
                                                "--drain-stall-limit", "60"});
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(1)) << server.Output();
  Load load(addresses[0], 12);
  load.WaitAnswered(100);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
  load.Join();
  EXPECT_GE(load.answered().size(), 100u);
  // What the server ran and answered is what the clients got.
  EXPECT_EQ(AnsweredIds(server.Output()), load.answered());
  for (const grpc::StatusCode code : load.errors()) {
    EXPECT_EQ(code, grpc::StatusCode::UNAVAILABLE) << code;
  }
  EXPECT_THAT(server.Output(), HasSubstr("\"event\":\"drained\""));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ProcessTest, SigintStopsAnIdleServer) {
  const TemporaryFolder folder;
  const std::string socket = "unix:" + (folder.path() / "socket").string();
  ServerProcess server(ServerProcess::Serving(folder.path()) +
                       std::vector<std::string>{"--listen", socket});
  EXPECT_THAT(server.WaitReady(folder.path()), ElementsAre(StartsWith("127.0.0.1:"), socket));
  server.Signal(SIGINT);
  EXPECT_EQ(server.WaitExit(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A killed server leaves its socket file behind; the next one takes it over.
TEST(ProcessTest, TakesOverTheSocketOfADeadServer) {
  const TemporaryFolder folder;
  const std::string socket = "unix:" + (folder.path() / "socket").string();
  const auto arguments = std::vector<std::string>{"--listen", socket, "--ready-file",
                                                  (folder.path() / "ready").string()};
  ServerProcess first(arguments);
  ASSERT_THAT(first.WaitReady(folder.path()), ElementsAre(socket));
  first.Signal(SIGKILL);
  EXPECT_EQ(first.WaitExit(), -SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(folder.path() / "socket"));
  std::filesystem::remove(folder.path() / "ready");

  ServerProcess second(arguments);
  ASSERT_THAT(second.WaitReady(folder.path()), ElementsAre(socket)) << second.Output();
  const auto stub = v1::OperatorService::NewStub(ConnectTo(socket));
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  EXPECT_TRUE(stub->Execute(&context, RoundRequest({1}), &response).ok());
}

TEST(ProcessTest, EndsWithOneIfItCannotStart) {
  const TemporaryFolder folder;
  ServerProcess first(ServerProcess::Serving(folder.path()));
  const std::vector<std::string> addresses = first.WaitReady(folder.path());
  ASSERT_THAT(addresses, SizeIs(1));
  ServerProcess second({"--listen", addresses[0], "--log-format", "json"});
  EXPECT_EQ(second.WaitExit(), 1);
  EXPECT_THAT(second.Output(), HasSubstr("Address already in use"));

  ServerProcess third({"--listen", "127.0.0.1:0", "--ready-file", "/no/such/folder/ready"});
  EXPECT_EQ(third.WaitExit(), 1);
  EXPECT_THAT(third.Output(), HasSubstr("/no/such/folder/ready"));
}

TEST(ProcessTest, EndsWithTwoForWrongUsage) {
  for (const char* argument : {"--no-such-flag", "--workers=many", "--listen=nowhere", "word"}) {
    ServerProcess server({argument});
    EXPECT_EQ(server.WaitExit(), 2) << argument;
    EXPECT_THAT(server.Output(), HasSubstr("--help"));
  }
}

TEST(ProcessTest, EndsWithZeroForInformation) {
  for (const char* argument : {"--help", "--version", "--print-config"}) {
    ServerProcess server({argument});
    EXPECT_EQ(server.WaitExit(), 0) << argument;
    EXPECT_FALSE(server.Output().empty());
  }
}

// Logs are JSON lines from the first to the last, those of gRPC included.
TEST(ProcessTest, JsonLogsHoldNothingElse) {
  ServerProcess server({"--listen", "192.0.2.1:1", "--log-format", "json"});
  EXPECT_EQ(server.WaitExit(), 1);
  const std::string output = server.Output();
  for (absl::string_view line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    EXPECT_THAT(std::string(line), StartsWith("{\"time\":\""));
    EXPECT_EQ(line.back(), '}');
  }
}

}  // namespace
}  // namespace opserve::testing
