#include "server/rpc/poller.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace opserve {

using std::chrono::milliseconds;

Poller::Poller(std::unique_ptr<grpc::ServerCompletionQueue> queue, milliseconds stall_limit)
    : queue_(std::move(queue)),
      tick_(std::max(stall_limit / StallWatch::kTicks, milliseconds(1))) {}

void Poller::AddCall(PolledCall& call) {
  call.next_ = calls_;
  if (calls_ != nullptr) calls_->previous_ = &call;
  calls_ = &call;
}

void Poller::RemoveCall(PolledCall& call) {
  (call.previous_ != nullptr ? call.previous_->next_ : calls_) = call.next_;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
}

void Poller::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Poller::Stop() {
  if (!thread_.joinable()) return;
  stop_alarm_.Set(queue_.get(), std::chrono::system_clock::now(),
                  static_cast<CompletionTag*>(&stop_));
  thread_.join();
}

void Poller::OnStop(bool) { is_stopping_ = true; }

void Poller::SetTickAlarm() {
  tick_alarm_.Set(queue_.get(), std::chrono::system_clock::now() + tick_,
                  static_cast<CompletionTag*>(&ticked_));
}

void Poller::OnTick(bool ok) {
  // Cancelled at the end.
  if (!ok) return;
  for (PolledCall* call = calls_; call != nullptr; call = call->next_) call->OnTick();
  SetTickAlarm();
}

void Poller::Run() {
  thread_id_ = std::this_thread::get_id();
  SetTickAlarm();
  void* tag = nullptr;
  bool ok = false;
  while (!(is_stopping_ && calls_ == nullptr) && queue_->Next(&tag, &ok)) {
    static_cast<CompletionTag*>(tag)->OnEvent(ok);
  }
  // What is left are calls that were asked for and never came.
  tick_alarm_.Cancel();
  queue_->Shutdown();
  while (queue_->Next(&tag, &ok)) static_cast<CompletionTag*>(tag)->OnEvent(ok);
}

}  // namespace opserve
