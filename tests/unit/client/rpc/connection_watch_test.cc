#include "client/rpc/connection_watch.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// Has the channel fail to connect, without any call.
void Fail(grpc::Channel& channel) {
  while (channel.GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    std::this_thread::yield();
  }
}

class ConnectionWatchTest : public ::testing::Test {
 protected:
  void Watch(const std::string& target) {
    channel_ = ChannelTo(target);
    watch_ = std::make_shared<ConnectionWatch>(*channel_, *poller_);
  }
  bool IsUnderWay() const { return watch_.use_count() > 1; }

  std::shared_ptr<ClientPoller> poller_ = std::make_shared<ClientPoller>();
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<ConnectionWatch> watch_;
};

TEST_F(ConnectionWatchTest, LeavesAChannelAloneThatIsIdle) {
  Watch("unix:/nowhere");
  watch_->OnFailure();
  EXPECT_FALSE(IsUnderWay());
}

// Else a client that is connected would keep a thread polling.
TEST_F(ConnectionWatchTest, EndsOnceTheChannelIsConnected) {
  std::string folder = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string target = absl::StrCat("unix:", folder, "/server");
  Watch(target);
  Fail(*channel_);
  watch_->OnFailure();
  EXPECT_TRUE(IsUnderWay());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target, grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  while (IsUnderWay()) std::this_thread::yield();
  EXPECT_EQ(channel_->GetState(/*try_to_connect=*/false), GRPC_CHANNEL_READY);
  watch_->Stop();
  channel_ = nullptr;
  server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) continue;
  std::filesystem::remove_all(folder);
}

TEST_F(ConnectionWatchTest, EndsWithTheChannel) {
  Watch("unix:/nowhere");
  Fail(*channel_);
  watch_->OnFailure();
  watch_->OnFailure();
  EXPECT_EQ(watch_.use_count(), 2);
  watch_->Stop();
  channel_ = nullptr;
  while (IsUnderWay()) std::this_thread::yield();
}

TEST_F(ConnectionWatchTest, ThePollerMayGoAtOnce) {
  Watch("unix:/nowhere");
  Fail(*channel_);
  watch_->OnFailure();
  watch_->Stop();
  channel_ = nullptr;
  poller_ = nullptr;
  EXPECT_FALSE(IsUnderWay());
}

// gRPC would tell of nothing but the limit.
TEST_F(ConnectionWatchTest, LeavesAChannelAloneThatNeverTriesToConnect) {
  Watch("unix:/" + std::string(200, 'x'));
  watch_->OnFailure();
  EXPECT_FALSE(IsUnderWay());
}

}  // namespace
}  // namespace opserve::client_internal
