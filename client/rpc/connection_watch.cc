#include "client/rpc/connection_watch.h"

#include <utility>

namespace opserve::client_internal {

// A channel fails before it has tried to connect where gRPC cannot read its target. It will never
// do anything else, and gRPC would end the watch at the limit only.
ConnectionWatch::ConnectionWatch(grpc::Channel& channel, ClientPoller& poller)
    : poller_(poller),
      channel_(channel.GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_TRANSIENT_FAILURE
                   ? nullptr
                   : &channel) {}

void ConnectionWatch::OnFailure() {
  const MutexLock lock(mutex_);
  until_ = std::chrono::system_clock::now() + kLimit;
  if (self_ == nullptr) Wait();
}

void ConnectionWatch::Stop() {
  const MutexLock lock(mutex_);
  channel_ = nullptr;
}

void ConnectionWatch::OnEvent(bool /*ok*/) {
  std::shared_ptr<ConnectionWatch> self;
  std::function<void()> end_use;
  {
    const MutexLock lock(mutex_);
    if (std::chrono::system_clock::now() < until_ && Wait()) return;
    self = std::move(self_);
    end_use = std::move(end_use_);
  }
  end_use();
}

bool ConnectionWatch::Wait() {
  if (channel_ == nullptr) return false;
  const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/false);
  if (state != GRPC_CHANNEL_CONNECTING && state != GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
  if (self_ == nullptr) {
    self_ = shared_from_this();
    end_use_ = poller_.BeginLasting();
  }
  channel_->NotifyOnStateChange(state, until_, poller_.queue(), static_cast<CompletionTag*>(this));
  return true;
}

}  // namespace opserve::client_internal
