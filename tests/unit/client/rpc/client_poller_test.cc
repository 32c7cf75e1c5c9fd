#include "client/rpc/client_poller.h"

#include <functional>
#include <thread>
#include <utility>

#include "grpcpp/alarm.h"
#include "gtest/gtest.h"
#include "proto/base/mutex.h"
#include "proto/transport/completion_tag.h"

namespace opserve::client_internal {
namespace {

using Pollers = std::vector<std::shared_ptr<ClientPoller>>;

// An operation that ends at once, and what its event does on the poller's thread.
class Operation final : public CompletionTag {
 public:
  explicit Operation(std::function<void()> action) : action_(std::move(action)) {}

  void StartOn(ClientPoller& poller) {
    poller_ = &poller;
    poller.Begin();
    alarm_.Set(poller.queue(), std::chrono::system_clock::now(), static_cast<CompletionTag*>(this));
  }

  void OnEvent(bool /*ok*/) override {
    poller_->End();
    action_();
    const MutexLock lock(mutex_);
    has_ended_ = true;
    changed_.NotifyAll();
  }

  void Wait() {
    const MutexLock lock(mutex_);
    while (!has_ended_) changed_.Wait(mutex_);
  }

 private:
  const std::function<void()> action_;
  ClientPoller* poller_ = nullptr;
  grpc::Alarm alarm_;
  Mutex mutex_;
  CondVar changed_;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(ClientPollerTest, EventsComeToItsThreadOneAfterTheOther) {
  ClientPoller poller;
  std::thread::id first;
  std::thread::id second;
  // The thread has to be woken for the first one, and perhaps for the second one.
  for (std::thread::id* id : {&first, &second}) {
    Operation operation([id] { *id = std::this_thread::get_id(); });
    operation.StartOn(poller);
    operation.Wait();
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(ClientPollerTest, OperationsMayBeStartedWithinAnEvent) {
  ClientPoller poller;
  Operation last([] {});
  Operation first([&] { last.StartOn(poller); });
  first.StartOn(poller);
  last.Wait();
  first.Wait();
}

TEST(ClientPollerTest, ClientsOfAProcessShareIt) {
  absl::StatusOr<Pollers> one = ClientPoller::ForChannels(1);
  absl::StatusOr<Pollers> several = ClientPoller::ForChannels(64);
  ASSERT_TRUE(one.ok() && several.ok());
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->front(), several->front());
  EXPECT_LE(several->size(), std::max(1u, std::thread::hardware_concurrency() / 4));
  const std::weak_ptr<ClientPoller> watched = one->front();
  one->clear();
  EXPECT_FALSE(watched.expired());
  several->clear();
  EXPECT_TRUE(watched.expired());
}

TEST(ClientPollerTest, AnEventMayGiveItUp) {
  auto poller = std::make_shared<ClientPoller>();
  ClientPoller& used = *poller;
  Operation operation([&poller] { poller = nullptr; });
  operation.StartOn(used);
  operation.Wait();
  EXPECT_EQ(poller, nullptr);
}

}  // namespace
}  // namespace opserve::client_internal
