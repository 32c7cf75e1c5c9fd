#include "client/rpc/client_poller.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <system_error>

#include "client/rpc/channel.h"
#include "proto/base/mutex.h"
#include "proto/base/named_thread.h"
#include "proto/transport/completion_tag.h"

namespace opserve::client_internal {
namespace {

constexpr unsigned kProcessorsPerPoller = 4;

// The pollers of this process that are in use.
struct Shared {
  Mutex mutex;
  std::weak_ptr<ClientPoller> pollers[kMaxChannels] ABSL_GUARDED_BY(mutex);
};

Shared& InProcess() {
  // Never destroyed: clients may live as long as the process.
  static auto* const shared = new Shared;
  return *shared;
}

}  // namespace

struct ClientPoller::Impl {
  // Waits until the queue is used. Returns how long to poll it for, or nothing at the end.
  std::optional<std::chrono::system_clock::time_point> WaitForUse();
  void Run();
  void Begin();
  void End();

  grpc::CompletionQueue queue;
  Mutex mutex;
  CondVar changed;
  int uses ABSL_GUARDED_BY(mutex) = 0;
  // The thread has polled for kLinger in vain.
  bool is_idle ABSL_GUARDED_BY(mutex) = true;
  bool is_stopping ABSL_GUARDED_BY(mutex) = false;
};

std::optional<std::chrono::system_clock::time_point> ClientPoller::Impl::WaitForUse() {
  const MutexLock lock(mutex);
  while (is_idle && uses == 0 && !is_stopping) changed.Wait(mutex);
  if (is_stopping) return std::nullopt;
  is_idle = false;
  if (uses > 0) return std::chrono::system_clock::time_point::max();
  return std::chrono::system_clock::now() + kLinger;
}

void ClientPoller::Impl::Run() {
  void* tag = nullptr;
  bool ok = false;
  const auto handle = [&] { static_cast<CompletionTag*>(tag)->OnEvent(ok); };
  while (const auto until = WaitForUse()) {
    if (queue.AsyncNext(&tag, &ok, *until) == grpc::CompletionQueue::GOT_EVENT) {
      handle();
      continue;
    }
    const MutexLock lock(mutex);
    is_idle = uses == 0;
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) handle();
}

void ClientPoller::Impl::Begin() {
  const MutexLock lock(mutex);
  ++uses;
  if (is_idle) changed.NotifyOne();
}

void ClientPoller::Impl::End() {
  const MutexLock lock(mutex);
  --uses;
}

absl::StatusOr<std::vector<std::shared_ptr<ClientPoller>>> ClientPoller::ForChannels(int channels) {
  const unsigned most = std::max(1u, std::thread::hardware_concurrency() / kProcessorsPerPoller);
  std::vector<std::shared_ptr<ClientPoller>> pollers(std::min<size_t>(channels, most));
  Shared& shared = InProcess();
  const MutexLock lock(shared.mutex);
  for (size_t i = 0; i < pollers.size(); ++i) {
    pollers[i] = shared.pollers[i].lock();
    if (pollers[i] != nullptr) continue;
    try {
      pollers[i] = std::make_shared<ClientPoller>();
    } catch (const std::system_error&) {
      return absl::ResourceExhaustedError("the system has no thread left for the client");
    }
    shared.pollers[i] = pollers[i];
  }
  return pollers;
}

ClientPoller::ClientPoller() : impl_(std::make_shared<Impl>()) {
  thread_ = StartThread("opserve-poller", [impl = impl_] { impl->Run(); });
}

ClientPoller::~ClientPoller() {
  {
    const MutexLock lock(impl_->mutex);
    impl_->is_stopping = true;
    impl_->changed.NotifyOne();
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

grpc::CompletionQueue* ClientPoller::queue() { return &impl_->queue; }

void ClientPoller::Begin() { impl_->Begin(); }

void ClientPoller::End() { impl_->End(); }

std::function<void()> ClientPoller::BeginLasting() {
  Begin();
  return [impl = impl_] { impl->End(); };
}

}  // namespace opserve::client_internal
