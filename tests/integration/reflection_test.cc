// Reflection against gRPC's own service, which runs in another program.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/util/message_differencer.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "gtest/gtest.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using google::protobuf::FileDescriptorProto;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kMethodV1[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
constexpr char kMethod[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// The program with gRPC's own reflection.
class PluginServer {
 public:
  PluginServer() {
    int input[2];
    int output[2];
    EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(input[0], 0);
      dup2(output[1], 1);
      execl(OPSERVE_REFLECTION_PLUGIN, OPSERVE_REFLECTION_PLUGIN, nullptr);
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    FILE* const lines = fdopen(output[0], "r");
    int port = 0;
    EXPECT_EQ(fscanf(lines, "%d", &port), 1);
    fclose(lines);
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~PluginServer() {
    close(input_);
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0);
  }
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  const std::string& address() const { return address_; }

 private:
  pid_t child_ = 0;
  int input_ = -1;
  std::string address_;
};

ServerReflectionResponse Ask(RawStream& stream, const ServerReflectionRequest& request) {
  EXPECT_TRUE(stream.Write(request.SerializeAsString()));
  const std::optional<std::string> answer = stream.Read();
  ServerReflectionResponse response;
  EXPECT_TRUE(answer && response.ParseFromString(*answer));
  return response;
}

ServerReflectionRequest SymbolRequest(const std::string& symbol) {
  ServerReflectionRequest request;
  request.set_host("somewhere");
  request.set_file_containing_symbol(symbol);
  return request;
}

std::vector<ServerReflectionRequest> Questions() {
  std::vector<ServerReflectionRequest> questions;
  for (const char* symbol : {"opserve.v1.OperatorService", "opserve.v1.OperatorService.Execute",
                             "opserve.v1.ExecuteRequest", "grpc.health.v1.Health",
                             "google.protobuf.Duration", "no.such.Symbol", ""}) {
    questions.push_back(SymbolRequest(symbol));
  }
  for (const char* file :
       {"opserve/v1/operator_service.proto", "opserve/v1/tensor.proto", "no/such.proto", ""}) {
    questions.emplace_back().set_file_by_filename(file);
  }
  for (const char* type :
       {"opserve.v1.ExecuteRequest", "google.protobuf.FieldOptions", "no.such.Type", ""}) {
    questions.emplace_back().set_all_extension_numbers_of_type(type);
    auto& extension = *questions.emplace_back().mutable_file_containing_extension();
    extension.set_containing_type(type);
    extension.set_extension_number(1234);
  }
  // Nothing is asked.
  questions.emplace_back();
  return questions;
}

TEST(ReflectionTest, AnswersLikeTheOriginal) {
  const PluginServer plugin;
  TestServer server;
  const auto original_channel = ConnectTo(plugin.address());
  RawStream ours(server.channel(), kMethod);
  for (const ServerReflectionRequest& question : Questions()) {
    // A second answer of the original has the files of the first as well.
    RawStream original(original_channel, kMethod);
    const ServerReflectionResponse answer = Ask(ours, question);
    const ServerReflectionResponse expected = Ask(original, question);
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(expected, answer)) << question.ShortDebugString() << "\n"
                                                       << differences;
  }
  // Their order is that of registration.
  ServerReflectionRequest list;
  list.set_list_services("*");
  const auto names = [&](RawStream& stream) {
    std::multiset<std::string> services;
    const ServerReflectionResponse answer = Ask(stream, list);
    for (const auto& service : answer.list_services_response().service()) {
      services.insert(service.name());
    }
    return services;
  };
  RawStream original(original_channel, kMethod);
  EXPECT_THAT(
      names(original),
      UnorderedElementsAre("opserve.v1.OperatorService", "opserve.v1.AdminService",
                           "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"));
  EXPECT_THAT(names(ours), UnorderedElementsAre("opserve.v1.OperatorService",
                                                "opserve.v1.AdminService", "grpc.health.v1.Health",
                                                "grpc.reflection.v1alpha.ServerReflection",
                                                "grpc.reflection.v1.ServerReflection"));
  ours.WritesDone();
  EXPECT_TRUE(ours.Finish().ok());
}

TEST(ReflectionTest, DescribesItself) {
  TestServer server;
  RawStream stream(server.channel(), kMethod);
  const ServerReflectionResponse answer =
      Ask(stream, SymbolRequest("grpc.reflection.v1alpha.ServerReflection"));
  FileDescriptorProto file;
  ASSERT_EQ(answer.file_descriptor_response().file_descriptor_proto_size(), 1);
  ASSERT_TRUE(file.ParseFromString(answer.file_descriptor_response().file_descriptor_proto(0)));
  EXPECT_EQ(file.service(0).method(0).name(), "ServerReflectionInfo");
}

// The messages are the same on the wire; tools of today ask for v1 first.
TEST(ReflectionTest, AnswersAsV1Too) {
  TestServer server;
  RawStream v1(server.channel(), kMethodV1);
  RawStream v1alpha(server.channel(), kMethod);
  for (const ServerReflectionRequest& question : Questions()) {
    EXPECT_EQ(Ask(v1, question).SerializeAsString(), Ask(v1alpha, question).SerializeAsString());
  }
  const ServerReflectionResponse answer =
      Ask(v1, SymbolRequest("grpc.reflection.v1.ServerReflection"));
  FileDescriptorProto text;
  ASSERT_EQ(answer.file_descriptor_response().file_descriptor_proto_size(), 1);
  ASSERT_TRUE(text.ParseFromString(answer.file_descriptor_response().file_descriptor_proto(0)));
  google::protobuf::DescriptorPool pool;
  const auto* const file = pool.BuildFile(text);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->service(0)->method(0)->input_type()->full_name(),
            "grpc.reflection.v1.ServerReflectionRequest");
}

// What a tool does with the details of an error: it asks for the type that the URL names, and
// prints the message by what it is told.
TEST(ReflectionTest, DescribesTheDetailsOfErrors) {
  TestServer server;
  v1::ExecuteRequest wrong = RoundRequest({1});
  wrong.mutable_inputs(0)->set_sizes(0, 2);
  const rpc::Status error = DetailsOf(server.Execute(wrong).status);
  ASSERT_GE(error.details_size(), 2);
  RawStream stream(server.channel(), kMethod);
  std::string printed;
  for (const auto& detail : error.details()) {
    const std::string type = detail.type_url().substr(detail.type_url().rfind('/') + 1);
    const ServerReflectionResponse answer = Ask(stream, SymbolRequest(type));
    google::protobuf::DescriptorPool pool;
    const auto& files = answer.file_descriptor_response().file_descriptor_proto();
    for (auto text = files.rbegin(); text != files.rend(); ++text) {
      FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(*text));
      ASSERT_NE(pool.BuildFile(file), nullptr) << file.name();
    }
    const auto* const descriptor = pool.FindMessageTypeByName(type);
    ASSERT_NE(descriptor, nullptr) << type;
    google::protobuf::DynamicMessageFactory factory;
    const std::unique_ptr<google::protobuf::Message> message(
        factory.GetPrototype(descriptor)->New());
    ASSERT_TRUE(message->ParseFromString(detail.value()));
    printed += message->DebugString();
  }
  EXPECT_THAT(printed, HasSubstr("reason: \"INVALID_REQUEST\""));
  EXPECT_THAT(printed, HasSubstr("field_violations {"));
}

TEST(ReflectionTest, RefusesWhatIsNoQuestion) {
  TestServer server;
  RawStream stream(server.channel(), kMethod);
  ASSERT_TRUE(stream.Write("\x0a\x7f"));
  EXPECT_EQ(stream.Read(), std::nullopt);
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

size_t ThreadsOfThisProcess() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& thread :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

TEST(ReflectionTest, StreamsTakeNoThreads) {
  TestServer server;
  ServerReflectionRequest list;
  list.set_list_services("");
  std::vector<std::unique_ptr<RawStream>> streams;
  size_t threads = 0;
  for (int i = 0; i < 200; ++i) {
    streams.push_back(std::make_unique<RawStream>(server.channel(), kMethod));
    Ask(*streams.back(), list);
    if (i == 20) threads = ThreadsOfThisProcess();
  }
  // gRPC's own come and go.
  EXPECT_LE(ThreadsOfThisProcess(), threads + 10);
}

}  // namespace
}  // namespace opserve::testing
