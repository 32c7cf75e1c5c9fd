// A server that ends calls as a success without an answer.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/client.h"

namespace opserve {
namespace {

// Says OK to every call of any method, and nothing more.
class WordlessService final : public grpc::CallbackGenericService {
 private:
  class Reactor final : public grpc::ServerGenericBidiReactor {
   public:
    Reactor() { Finish(grpc::Status::OK); }
    void OnDone() override { delete this; }
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Reactor;
  }
};

TEST(ClientMissingAnswerTest, IsAnErrorAndNoResult) {
  WordlessService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);

  const auto client = Client::Connect(absl::StrCat("127.0.0.1:", port));
  ASSERT_TRUE(client.ok()) << client.status();
  const OperatorCall call = {.operator_name = "ELEMENT_WISE_ROUND"};
  for (const absl::Status& status :
       {(*client)->Execute(call).status(), (*client)->ExecuteFuture(call).get().status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("sent no answer"));
  }
}

}  // namespace
}  // namespace opserve
