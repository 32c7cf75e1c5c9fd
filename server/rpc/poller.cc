#include "server/rpc/poller.h"

#include <chrono>
#include <utility>

namespace opserve {

Poller::Poller(std::unique_ptr<grpc::ServerCompletionQueue> queue) : queue_(std::move(queue)) {}

void Poller::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Poller::Stop() {
  if (!thread_.joinable()) return;
  stop_alarm_.Set(queue_.get(), std::chrono::system_clock::now(), static_cast<Event*>(&stop_));
  thread_.join();
}

void Poller::OnStop(bool) { is_stopping_ = true; }

void Poller::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (!(is_stopping_ && calls_ == 0) && queue_->Next(&tag, &ok)) {
    static_cast<Event*>(tag)->OnEvent(ok);
  }
  // What is left are calls that were asked for and never came.
  queue_->Shutdown();
  while (queue_->Next(&tag, &ok)) static_cast<Event*>(tag)->OnEvent(ok);
}

}  // namespace opserve
