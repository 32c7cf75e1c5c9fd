// A server that ends calls as a success without an answer.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/client.h"

namespace opserve {
namespace {

// Says OK to every call of any method, and nothing more.
class WordlessServer {
 public:
  WordlessServer() {
    grpc::ServerBuilder builder;
    builder.RegisterAsyncGenericService(&service_);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    thread_ = std::thread([this] { Serve(); });
  }
  ~WordlessServer() {
    server_->Shutdown();
    queue_->Shutdown();
    thread_.join();
  }
  WordlessServer(const WordlessServer&) = delete;
  WordlessServer& operator=(const WordlessServer&) = delete;

  int port() const { return port_; }

 private:
  // Whether the event that is waited for came.
  bool WaitForEvent() {
    void* tag;
    bool ok;
    return queue_->Next(&tag, &ok) && ok;
  }
  void Serve() {
    for (;;) {
      grpc::GenericServerContext context;
      grpc::GenericServerAsyncReaderWriter stream(&context);
      service_.RequestCall(&context, &stream, queue_.get(), queue_.get(), this);
      if (!WaitForEvent()) break;
      stream.Finish(grpc::Status::OK, this);
      if (!WaitForEvent()) break;
    }
    while (WaitForEvent()) continue;
  }

  grpc::AsyncGenericService service_;
  int port_ = 0;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

TEST(ClientMissingAnswerTest, IsAnErrorAndNoResult) {
  const WordlessServer server;
  const auto client = Client::Connect(absl::StrCat("127.0.0.1:", server.port()));
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
