// What the command says where it cannot reach a server or is not let in, and what it shows of
// itself to one: against a small server that answers every call alike and remembers what came with
// it.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/arguments/exit_code.h"
#include "client/cli/commands.h"
#include "client/rpc/library_log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"
#include "opserve/stream.h"
#include "proto/base/mutex.h"

namespace opserve::testing {
namespace {

using cli::ServerArguments;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Answers every call with one status. On a completion queue and a thread of its own: gRPC's
// callback API would have gRPC's threads in between, which ThreadSanitizer cannot see.
class RecordingServer {
 public:
  // Listens at a free port of the loopback interface, and at a socket file in plain text.
  RecordingServer(std::shared_ptr<grpc::ServerCredentials> credentials,
                  const std::string& socket_file, grpc::Status status)
      : status_(std::move(status)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port_);
    builder.AddListeningPort("unix:" + socket_file, grpc::InsecureServerCredentials());
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    // Here, as the thread may come to run only when the server is shut down.
    Take();
    thread_ = std::thread([this] { Serve(); });
  }
  ~RecordingServer() {
    server_->Shutdown();
    queue_->Shutdown();
    thread_.join();
  }
  RecordingServer(const RecordingServer&) = delete;
  RecordingServer& operator=(const RecordingServer&) = delete;

  int port() const { return port_; }

  // Of the latest call: a value of its metadata, and the common name of the client's certificate.
  std::string authorization() const {
    const MutexLock lock(mutex_);
    return authorization_;
  }
  std::string common_name() const {
    const MutexLock lock(mutex_);
    return common_name_;
  }
  // The common names of all calls.
  std::set<std::string> common_names() const {
    const MutexLock lock(mutex_);
    return common_names_;
  }

 private:
  // Its address is the tag of its two events: that it is there, and that it is answered.
  struct Incoming {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    bool is_answered = false;
  };

  void Take() {
    auto* const call = new Incoming;
    service_.RequestCall(&call->context, &call->stream, queue_.get(), queue_.get(), call);
  }

  void Serve() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      std::unique_ptr<Incoming> call(static_cast<Incoming*>(tag));
      if (!ok || call->is_answered) continue;
      Take();
      Record(call->context);
      call->is_answered = true;
      call->stream.Finish(status_, call.get());
      call.release();  // NOLINT(bugprone-unused-return-value): the tag owns it
    }
  }

  void Record(const grpc::GenericServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find("authorization");
    const auto names = context.auth_context()->FindPropertyValues("x509_common_name");
    const MutexLock lock(mutex_);
    authorization_ =
        found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
    common_name_ = names.empty() ? "" : std::string(names[0].data(), names[0].size());
    common_names_.insert(common_name_);
  }

  const grpc::Status status_;
  int port_ = 0;
  mutable Mutex mutex_;
  std::string authorization_ ABSL_GUARDED_BY(mutex_);
  std::string common_name_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> common_names_ ABSL_GUARDED_BY(mutex_);
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

class ClientConnectTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    client_internal::SilenceLibraryLogs();
    char pattern[] = "/tmp/opserve-connect-XXXXXX";
    folder_ = mkdtemp(pattern);
    const std::string command =
        absl::StrCat(OPSERVE_MAKE_CERTIFICATES, " ", folder_, " > ", folder_, "/log 2>&1");
    ASSERT_EQ(std::system(command.c_str()), 0) << TextOf(folder_ + "/log");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static std::string File(const std::string& name) { return folder_ + "/" + name; }
  static std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(File(name)) << text;
    return File(name);
  }

  // With TLS, as server.test, unless the `credentials` are others.
  void Start(std::shared_ptr<grpc::ServerCredentials> credentials,
             const grpc::Status& status = {grpc::StatusCode::UNIMPLEMENTED, "no such method"}) {
    server_ = std::make_unique<RecordingServer>(std::move(credentials), File("socket"), status);
    ASSERT_NE(server_->port(), 0);
    arguments_.address = absl::StrCat("127.0.0.1:", server_->port());
  }
  void StartPlain() { Start(grpc::InsecureServerCredentials()); }
  void StartTls(bool wants_client = false) {
    grpc::SslServerCredentialsOptions options(
        wants_client ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                     : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_root_certs = TextOf(File("ca.pem"));
    options.pem_key_cert_pairs = {{TextOf(File("server.key")), TextOf(File("server.pem"))}};
    Start(grpc::SslServerCredentials(options));
  }
  void TrustServer() {
    arguments_.tls_ca_file = File("ca.pem");
    arguments_.tls_server_name = "server.test";
  }

  // Runs `opserve info`: the exit code. No line of an error may be longer than a terminal, but for
  // the names in it.
  int Run() {
    out_.str("");
    err_.str("");
    return cli::RunCommand(cli::InfoArguments{.server = arguments_, .json = true},
                           cli::Terminal{.out = out_, .err = err_});
  }
  std::string ReasonOf() const {
    return nlohmann::json::parse(out_.str())["error"].value("reason", "");
  }
  // The last attempt failed so, and its last line was the cure.
  void ExpectError(const std::string& reason, const std::string& message, const std::string& cure) {
    EXPECT_EQ(ReasonOf(), reason);
    const std::vector<std::string> lines = absl::StrSplit(err_.str(), '\n', absl::SkipEmpty());
    ASSERT_EQ(lines.size(), 2u) << err_.str();
    EXPECT_THAT(lines[0], StartsWith("opserve: "));
    EXPECT_THAT(lines[0], HasSubstr(message));
    EXPECT_LE(lines[0].size(), 100u) << lines[0];
    EXPECT_EQ(lines[1], "  " + cure);
    EXPECT_LE(lines[1].size(), 80u) << lines[1];
  }

  static std::string folder_;
  ServerArguments arguments_ = {.timeout = absl::Seconds(20)};
  std::unique_ptr<RecordingServer> server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

std::string ClientConnectTest::folder_;

TEST_F(ClientConnectTest, SendsTheTokenOfAFileToTheLoopbackInterface) {
  StartPlain();
  arguments_.token_file = Write("token", "  secret-1\n");
  EXPECT_EQ(Run(), cli::kCallFailed);
  EXPECT_EQ(server_->authorization(), "Bearer secret-1");
  // The file wins.
  arguments_.token = "secret-2";
  Run();
  EXPECT_EQ(server_->authorization(), "Bearer secret-1");
  arguments_.token_file = "";
  Run();
  EXPECT_EQ(server_->authorization(), "Bearer secret-2");
}

TEST_F(ClientConnectTest, ShowsItsCertificateAndTokenOverTls) {
  StartTls(/*wants_client=*/true);
  TrustServer();
  arguments_.tls_certificate_file = File("client.pem");
  arguments_.tls_key_file = File("client.key");
  arguments_.token = "secret";
  EXPECT_EQ(Run(), cli::kCallFailed) << err_.str();
  EXPECT_EQ(server_->common_name(), "client");
  EXPECT_EQ(server_->authorization(), "Bearer secret");
}

// As servers do, which know the user of a socket file without a certificate.
TEST_F(ClientConnectTest, SpeaksPlainTextOverSocketFilesWhereItHasTls) {
  StartTls(/*wants_client=*/true);
  TrustServer();
  arguments_.tls_certificate_file = File("client.pem");
  arguments_.tls_key_file = File("client.key");
  arguments_.token = "secret";
  const std::string over_tls = arguments_.address;
  arguments_.address = "unix:" + File("socket");
  EXPECT_EQ(Run(), cli::kCallFailed) << err_.str();
  EXPECT_EQ(server_->common_name(), "");
  EXPECT_EQ(server_->authorization(), "Bearer secret");
  // Nobody there answers, which TLS has nothing to do with.
  arguments_.address = "unix:" + File("nobody");
  EXPECT_EQ(Run(), cli::kUnreachable);
  EXPECT_EQ(ReasonOf(), kUnknownHost);

  // Of several each has its own; a call that one does not know goes on to the other.
  arguments_.address = absl::StrCat(over_tls, ",unix:", File("socket"));
  EXPECT_EQ(Run(), cli::kCallFailed) << err_.str();
  EXPECT_EQ(server_->common_names(), (std::set<std::string>{"", "client"}));
}

TEST_F(ClientConnectTest, SendsNoTokenInPlainTextElsewhere) {
  arguments_.token = "secret";
  for (const char* address :
       {"gpu-host:50051", "10.0.0.1:50051", "127.example.com:50051", "localhost.example.com:50051",
        "ipv4:10.0.0.1:50051", "dns:///gpu-host:50051"}) {
    arguments_.address = address;
    EXPECT_EQ(Run(), cli::kUsage) << address;
    ExpectError(kTokenNeedsTls, address, "encrypt with --tls, or with --tls-ca FILE");
  }
  // Of several the one that would see it.
  arguments_.address = "127.0.0.1:50051,10.0.0.1:50051";
  EXPECT_EQ(Run(), cli::kUsage);
  ExpectError(kTokenNeedsTls, "travel to 10.0.0.1:50051 in",
              "encrypt with --tls, or with --tls-ca FILE");
}

TEST_F(ClientConnectTest, ATokenThatNoHeaderCarriesIsWrongUsage) {
  arguments_.token = "two words";
  EXPECT_EQ(Run(), cli::kUsage);
  ExpectError(kInvalidOptions, "printable ASCII without spaces", "see --help");
}

TEST_F(ClientConnectTest, AddressesThatAreNone) {
  const std::map<std::string, std::string> words = {
      {"http://host:50051", "write host:50051 alone"},
      {"https://host:50051/x", "write host:50051 alone, and use TLS"},
      {"host", "has no port"},
      {"[::1]", "has no port"},
      {"host:", "no port between 1 and 65535"},
      {"host:http", "no port between 1 and 65535"},
      {"host:70000", "no port between 1 and 65535"},
      {":50051", "has no host"},
      {"fe80::1:50051", "without brackets"},
  };
  for (const auto& [address, word] : words) {
    arguments_.address = address;
    EXPECT_EQ(Run(), cli::kUsage) << address;
    ExpectError(kInvalidTarget, word, "see --address");
  }
}

TEST_F(ClientConnectTest, PlainTextToATlsPort) {
  StartTls();
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kServerWantsTls, arguments_.address + ": it takes no plain text",
              "if it wants TLS: --tls, or --tls-ca FILE");
}

TEST_F(ClientConnectTest, TlsToAPlainPort) {
  StartPlain();
  TrustServer();
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kServerWithoutTls, arguments_.address + ": the server speaks no TLS",
              "leave out --tls and all --tls-... options");
}

TEST_F(ClientConnectTest, AnUntrustedCertificate) {
  StartTls();
  TrustServer();
  arguments_.tls_ca_file = File("other.pem");
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kCertificateNotTrusted, "no trusted authority vouches for its certificate",
              "name the authority that signed it with --tls-ca FILE");
}

TEST_F(ClientConnectTest, ACertificateOfAnotherName) {
  StartTls();
  TrustServer();
  for (const char* name : {"", "elsewhere.test"}) {
    arguments_.tls_server_name = name;
    EXPECT_EQ(Run(), cli::kUnreachable);
    ExpectError(kCertificateOfAnotherName, "its certificate is for another name",
                "name it with --tls-server-name NAME, if it is the right server");
  }
}

TEST_F(ClientConnectTest, AServerThatWantsACertificate) {
  StartTls(/*wants_client=*/true);
  TrustServer();
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kClientCertificateRefused, "it wants a certificate of the client, or another one",
              "show another with --tls-certificate FILE --tls-key FILE");
}

TEST_F(ClientConnectTest, NobodyListens) {
  StartPlain();
  server_.reset();
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kConnectionRefused, arguments_.address + ": connection refused",
              "is opserve-server running there? See --address");
}

// A client that is made before its server learns it from its calls, of whichever kind.
TEST_F(ClientConnectTest, EveryKindOfCallTellsTheReason) {
  StartPlain();
  server_.reset();
  const auto client = Client::Connect(
      arguments_.address, {.connect_timeout = absl::ZeroDuration(), .retry = {.max_attempts = 1}});
  ASSERT_TRUE(client.ok()) << client.status();
  const std::vector<float> value = {1};
  const OperatorCall call = {.operator_name = "ELEMENT_WISE_ROUND",
                             .inputs = {TensorView::Of<float>(value, {1})}};
  EXPECT_EQ(GetErrorReason((*client)->Execute(call).status()), kConnectionRefused);
  EXPECT_EQ(GetErrorReason((*client)->StartExecute(call).Wait().status()), kConnectionRefused);
  const auto stream = (*client)->OpenStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(GetErrorReason((*stream)->Start(call).Wait().status()), kConnectionRefused);
}

TEST_F(ClientConnectTest, AnUnknownHostOrSocketFile) {
  arguments_.address = "nowhere.invalid:50051";
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kUnknownHost, "nowhere.invalid:50051: the host is not known", "see --address");
  arguments_.address = "unix:" + File("nobody");
  EXPECT_EQ(Run(), cli::kUnreachable);
  ExpectError(kUnknownHost, "there is no such socket file", "see --address");
}

TEST_F(ClientConnectTest, FilesThatHoldSomethingElse) {
  const std::string text = Write("text.pem", "hello\n");
  const std::string broken =
      Write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const std::string empty = Write("empty", " \n");
  const auto expect = [&](const ServerArguments& arguments, const std::string& words) {
    arguments_ = arguments;
    EXPECT_EQ(Run(), cli::kFileError);
    EXPECT_EQ(err_.str(), "opserve: " + words + "\n");
  };
  expect({.tls_ca_file = text}, text + " holds no certificate in PEM form");
  expect({.tls_ca_file = broken}, broken + " holds a certificate that cannot be read");
  expect({.tls_certificate_file = File("client.key")},
         File("client.key") + " holds no certificate in PEM form");
  expect({.tls_certificate_file = File("client.pem"), .tls_key_file = text},
         text + " holds no private key in PEM form without a password");
  expect({.token_file = empty}, empty + " holds no token");
  expect({.tls_ca_file = File("missing")},
         "cannot open " + File("missing") + ": No such file or directory");
  expect({.token_file = File("missing")},
         "cannot open " + File("missing") + ": No such file or directory");
}

TEST_F(ClientConnectTest, CertificateAndKeyGoTogether) {
  arguments_.tls_certificate_file = File("client.pem");
  EXPECT_EQ(Run(), cli::kUsage);
  ExpectError(kInvalidOptions, "client certificate and its key go together", "see --help");
  arguments_.tls_key_file = File("server.key");
  EXPECT_EQ(Run(), cli::kUsage);
  ExpectError(kInvalidOptions, "the key is not that of the certificate", "see --help");
}

TEST_F(ClientConnectTest, ACallerWhoIsNotLetIn) {
  Start(grpc::InsecureServerCredentials(), {grpc::StatusCode::UNAUTHENTICATED, "no such token"});
  EXPECT_EQ(Run(), cli::kDenied);
  ExpectError("", "info: UNAUTHENTICATED: no such token",
              "say who you are: --token-file FILE, or --tls-certificate, --tls-key");
  Start(grpc::InsecureServerCredentials(), {grpc::StatusCode::PERMISSION_DENIED, "not for you"});
  EXPECT_EQ(Run(), cli::kDenied);
  ExpectError("", "info: PERMISSION_DENIED: not for you",
              "use --token-file or --tls-certificate of a caller who may");
}

}  // namespace
}  // namespace opserve::testing
