// Whether a poller answers whoever asks if it lives.

#include "server/rpc/poller.h"

#include <chrono>

#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "proto/base/mutex.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;

// Keeps the thread of a poller in one event until it is let go.
class StuckEvent {
 public:
  explicit StuckEvent(Poller& poller) {
    alarm_.Set(&poller.queue(), std::chrono::system_clock::now(),
               static_cast<CompletionTag*>(&tag_));
    MutexLock lock(mutex_);
    while (!has_begun_) changed_.Wait(mutex_);
  }
  void LetGo() {
    MutexLock lock(mutex_);
    is_let_go_ = true;
    changed_.NotifyAll();
  }

 private:
  void OnEvent(bool) {
    MutexLock lock(mutex_);
    has_begun_ = true;
    changed_.NotifyAll();
    while (!is_let_go_) changed_.Wait(mutex_);
  }

  Mutex mutex_;
  CondVar changed_;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_let_go_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_;
  MemberTag<StuckEvent, &StuckEvent::OnEvent> tag_{*this};
};

TEST(PollerTest, RespondsExactlyWhileItsThreadTakesEvents) {
  grpc::ServerBuilder builder;
  Poller poller(builder.AddCompletionQueue(), std::chrono::minutes(1));
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  poller.Start();
  EXPECT_TRUE(poller.Responds(std::chrono::minutes(1)));
  StuckEvent stuck(poller);
  // The second one asks no second time.
  EXPECT_FALSE(poller.Responds(milliseconds(20)));
  EXPECT_FALSE(poller.Responds(milliseconds(0)));
  stuck.LetGo();
  EXPECT_TRUE(poller.Responds(std::chrono::minutes(1)));
  EXPECT_TRUE(poller.Responds(std::chrono::minutes(1)));
  server->Shutdown();
  poller.Stop();
}

}  // namespace
}  // namespace opserve::testing
