// Clients that show certificates, and those that should.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "server/base/small_file.h"
#include "server/service/server.h"
#include "tests/integration/requests.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using std::filesystem::path;

std::string TextOf(const path& file) {
  std::ifstream in(file);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// Keys and certificates of a farm, made anew.
class Authority {
 public:
  explicit Authority(const path& folder, const std::string& name) : folder_(folder), name_(name) {
    Run("req -x509 " + NewKey(name) + " -out " + name + ".pem -days 2 -subj /CN=" + name);
  }

  path file() const { return folder_ / (name_ + ".pem"); }

  // Makes OWNER.pem and OWNER.key for the subject.
  void Sign(const std::string& owner, const std::string& subject, int days = 2) const {
    Run("req " + NewKey(owner) + " -out " + owner + ".csr -subj '" + subject + "'");
    Run("x509 -req -in " + owner + ".csr -CA " + name_ + ".pem -CAkey " + name_ +
        ".key -CAcreateserial -out " + owner + ".pem -days " + std::to_string(days));
  }

 private:
  static std::string NewKey(const std::string& owner) {
    return "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + owner + ".key";
  }

  void Run(const std::string& arguments) const {
    const std::string command =
        "cd '" + folder_.string() + "' && openssl " + arguments + " 2>>openssl.log";
    EXPECT_EQ(std::system(command.c_str()), 0) << command << TextOf(folder_ / "openssl.log");
  }

  const path folder_;
  const std::string name_;
};

class ClientCertificatesTest : public ::testing::Test {
 protected:
  ClientCertificatesTest() {
    farm_.Sign("node", "/CN=node-1.farm.example");
    farm_.Sign("stolen", "/CN=stolen.farm.example");
    farm_.Sign("slash", "/CN=node-1.farm.example\\/x");
    farm_.Sign("expired", "/CN=node-2.farm.example", -1);
    Authority(folder_, "other").Sign("foreign", "/CN=node-1.farm.example");
  }
  ~ClientCertificatesTest() override { std::filesystem::remove_all(folder_); }

  static path MakeFolder() {
    std::string pattern = ::testing::TempDir() + "opserve-certificates-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    return pattern;
  }

  static std::string Rule(const std::string& match, const std::string& roles) {
    return "[[client]]\nmatch = \"" + match + "\"\nroles = [" + roles + "]\n";
  }
  void WritePolicy(const std::string& rules) const {
    ASSERT_TRUE(ReplaceFile(policy_, rules).ok());
  }

  void Start(bool is_required) {
    const path data = path(OPSERVE_TEST_DATA) / "tls";
    ServerOptions options;
    options.listen = {"127.0.0.1:0", "unix:" + (folder_ / "socket").string()};
    options.regions.is_on = false;
    options.tls_certificate = data / "certificate.pem";
    options.tls_key = data / "key.pem";
    options.tls_client_ca = farm_.file();
    options.requires_client_certificate = is_required;
    options.access.policy_file = policy_;
    WritePolicy(Rule("cert:stolen.*", "") + Rule("cert:*.farm.example", R"("observe")") +
                Rule("uid:" + std::to_string(geteuid()), R"("observe")"));
    auto server = Server::Start(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // A stub with a connection of its own, and the certificate of `owner`, if any.
  std::unique_ptr<Stub> Connect(const std::string& owner) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = TextOf(path(OPSERVE_TEST_DATA) / "tls" / "certificate.pem");
    if (!owner.empty()) {
      options.pem_cert_chain = TextOf(folder_ / (owner + ".pem"));
      options.pem_private_key = TextOf(folder_ / (owner + ".key"));
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::OperatorService::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(server_->port()), grpc::SslCredentials(options), arguments));
  }
  static grpc::Status Ask(Stub& stub) {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    return stub.GetServerInfo(&context, {}, &info);
  }
  // The status of a call over a connection of its own.
  grpc::Status Call(const std::string& owner) const { return Ask(*Connect(owner)); }

  const path folder_ = MakeFolder();
  const path policy_ = folder_ / "policy.toml";
  const Authority farm_{folder_, "farm"};
  std::unique_ptr<Server> server_;
};

TEST_F(ClientCertificatesTest, TheNameInItIsWhoTheyAre) {
  Start(true);
  EXPECT_TRUE(Call("node").ok()) << Call("node").error_message();
  // What cannot be revoked is given no role.
  EXPECT_EQ(ReasonOf(Call("stolen")), "ROLE_REQUIRED");
  EXPECT_EQ(ReasonOf(Call("slash")), "CREDENTIALS_INVALID");
}

TEST_F(ClientCertificatesTest, WhereTheyAreRequiredNobodyConnectsWithout) {
  Start(true);
  for (const char* owner : {"", "foreign", "expired"}) {
    EXPECT_EQ(Call(owner).error_code(), grpc::StatusCode::UNAVAILABLE) << owner;
  }
}

TEST_F(ClientCertificatesTest, UsersOfASocketFileAreKnownWithoutOne) {
  Start(true);
  const auto stub =
      v1::OperatorService::NewStub(ConnectTo("unix:" + (folder_ / "socket").string()));
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  const grpc::Status status = stub->GetServerInfo(&context, {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  grpc::ClientContext execute;
  v1::ExecuteResponse response;
  const grpc::Status refused = stub->Execute(&execute, {}, &response);
  EXPECT_EQ(ReasonOf(refused), "ROLE_REQUIRED");
  EXPECT_EQ(DetailOf<rpc::ErrorInfo>(refused).metadata().at("identity"),
            "uid:" + std::to_string(geteuid()));
}

TEST_F(ClientCertificatesTest, WhereTheyAreOptionalABadOneIsNoBetter) {
  Start(false);
  EXPECT_TRUE(Call("node").ok());
  EXPECT_EQ(ReasonOf(Call("")), "CREDENTIALS_REQUIRED");
  for (const char* owner : {"foreign", "expired"}) {
    EXPECT_EQ(Call(owner).error_code(), grpc::StatusCode::UNAVAILABLE) << owner;
  }
}

// A stream of ExecuteStream, whose requests are answered one by one.
class RoundStream {
 public:
  explicit RoundStream(Stub& stub) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    stream_ = stub.ExecuteStream(&context_);
  }

  // Whether a request is answered with a result.
  bool Execute() {
    v1::ExecuteStreamRequest message;
    message.set_id(++last_id_);
    *message.mutable_request() = RoundRequest({1.5f});
    message.mutable_payloads()->Swap(message.mutable_request()->mutable_payloads());
    v1::ExecuteStreamResponse answer;
    return stream_->Write(message) && stream_->Read(&answer) && answer.id() == last_id_ &&
           ValuesOf<float>(answer.payload()) == std::vector<float>{2};
  }
  grpc::Status Finish() {
    stream_->WritesDone();
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>>
      stream_;
  uint64_t last_id_ = 0;
};

TEST_F(ClientCertificatesTest, OneThatLosesItsRolesIsRefusedOnItsOpenConnection) {
  Start(true);
  WritePolicy(Rule("cert:node-1.*", R"("execute", "observe")"));
  ASSERT_TRUE(server_->ReloadFiles().ok());
  const std::unique_ptr<Stub> stub = Connect("node");
  EXPECT_TRUE(Ask(*stub).ok());
  RoundStream stream(*stub);
  EXPECT_TRUE(stream.Execute());
  const uint64_t connections = server_->connections().accepted;

  WritePolicy(Rule("cert:node-1.*", "") + Rule("cert:*", R"("execute", "observe")"));
  ASSERT_TRUE(server_->ReloadFiles().ok());
  EXPECT_EQ(ReasonOf(Ask(*stub)), "ROLE_REQUIRED");
  RoundStream refused(*stub);
  EXPECT_FALSE(refused.Execute());
  EXPECT_EQ(ReasonOf(refused.Finish()), "ROLE_REQUIRED");
  // Calls that are under way keep what they were granted, as long as they last.
  EXPECT_TRUE(stream.Execute());
  EXPECT_TRUE(stream.Finish().ok());
  // All of this was one connection.
  EXPECT_EQ(server_->connections().accepted, connections);

  WritePolicy(Rule("cert:node-1.*", R"("observe")"));
  ASSERT_TRUE(server_->ReloadFiles().ok());
  EXPECT_TRUE(Ask(*stub).ok());
}

TEST_F(ClientCertificatesTest, AuthoritiesAreReadAgain) {
  Start(true);
  EXPECT_TRUE(Call("node").ok());
  std::filesystem::copy_file(folder_ / "other.pem", farm_.file(),
                             std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(server_->ReloadFiles().ok());
  EXPECT_FALSE(Call("node").ok());
  EXPECT_TRUE(Call("foreign").ok());
  // A file without certificates changes nothing.
  std::ofstream(farm_.file()) << "none";
  EXPECT_FALSE(server_->ReloadFiles().ok());
  EXPECT_TRUE(Call("foreign").ok());
}

TEST(ClientCertificatesOptionsTest, NeedTls) {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.tls_client_ca = "ca.pem";
  EXPECT_EQ(Server::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace opserve::testing
