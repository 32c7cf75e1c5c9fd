#include "server/rpc/poller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/named_thread.h"

namespace opserve {

using std::chrono::milliseconds;

namespace {

// How a large answer advances is not to be seen, so its client has a second more for each of so
// many bytes, ...
constexpr uint64_t kLeastAnswerBytesPerSecond = 1 << 20;
// ... or, while the server drains, of so many.
constexpr uint64_t kLeastAnswerBytesPerSecondAtEnd = 16 << 20;

milliseconds TickOf(milliseconds stall_limit) {
  return std::max(stall_limit / StallWatch::kTicks, milliseconds(1));
}

}  // namespace

Poller::Poller(std::unique_ptr<grpc::ServerCompletionQueue> queue, milliseconds stall_limit,
               int number)
    : queue_(std::move(queue)),
      number_(number),
      tick_(TickOf(stall_limit)),
      bytes_per_second_(kLeastAnswerBytesPerSecond) {}

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
  thread_ = StartThread(absl::StrCat("poller/", number_), [this] { Run(); });
}

void Poller::Stop() {
  if (!thread_.joinable()) {
    is_stopping_ = true;
    if (!is_ended_) Run();
    return;
  }
  stop_alarm_.Set(queue_.get(), std::chrono::system_clock::now(),
                  static_cast<CompletionTag*>(&stop_));
  thread_.join();
}

void Poller::OnStop(bool) { is_stopping_ = true; }

void Poller::HurryUp(milliseconds stall_limit) {
  if (is_hurried_.exchange(true)) return;
  hurried_tick_ = TickOf(stall_limit);
  hurry_alarm_.Set(queue_.get(), std::chrono::system_clock::now(),
                   static_cast<CompletionTag*>(&hurry_));
}

void Poller::OnHurry(bool) {
  tick_ = std::min(tick_, hurried_tick_.load());
  bytes_per_second_ = kLeastAnswerBytesPerSecondAtEnd;
  // The next tick is not far away any more.
  tick_alarm_.Cancel();
}

bool Poller::Responds(milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  MutexLock lock(probe_mutex_);
  // An earlier one that was not taken will do as well.
  if (!is_probed_) {
    is_probed_ = true;
    probe_alarm_.Set(queue_.get(), std::chrono::system_clock::now(),
                     static_cast<CompletionTag*>(&probe_));
  }
  while (is_probed_ && probed_.WaitUntil(probe_mutex_, end)) continue;
  return !is_probed_;
}

void Poller::OnProbe(bool) {
  MutexLock lock(probe_mutex_);
  is_probed_ = false;
  probed_.NotifyAll();
}

uint64_t Poller::ExtraTicks(uint64_t bytes) const {
  return bytes / bytes_per_second_ * 1000 / static_cast<uint64_t>(tick_.count());
}

void Poller::SetTickAlarm() {
  tick_alarm_.Set(queue_.get(), std::chrono::system_clock::now() + tick_,
                  static_cast<CompletionTag*>(&ticked_));
}

void Poller::OnTick(bool ok) {
  // Cancelled at the end, or to set it anew.
  if (is_ended_) return;
  PolledCall* next = nullptr;
  for (PolledCall* call = ok ? calls_ : nullptr; call != nullptr; call = next) {
    next = call->next_;
    call->OnTick();
  }
  SetTickAlarm();
}

void Poller::PutOff(PolledCall& call) {
  DoWhatWasPutOff();
  put_off_ = &call;
}

void Poller::DoWhatWasPutOff() {
  if (PolledCall* call = std::exchange(put_off_, nullptr); call != nullptr) call->OnPutOff();
}

bool Poller::Next(void** tag, bool* ok) {
  if (put_off_ != nullptr) {
    const auto status = queue_->AsyncNext(tag, ok, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    if (status == grpc::CompletionQueue::GOT_EVENT && put_off_->GoesOnWith(*tag)) return true;
    DoWhatWasPutOff();
    if (status == grpc::CompletionQueue::GOT_EVENT) return true;
  }
  return queue_->Next(tag, ok);
}

void Poller::Run() {
  thread_id_ = std::this_thread::get_id();
  SetTickAlarm();
  void* tag = nullptr;
  bool ok = false;
  while (!(is_stopping_ && calls_ == nullptr) && Next(&tag, &ok)) {
    static_cast<CompletionTag*>(tag)->OnEvent(ok);
  }
  // What is left are calls that were asked for and never came.
  is_ended_ = true;
  tick_alarm_.Cancel();
  queue_->Shutdown();
  while (Next(&tag, &ok)) static_cast<CompletionTag*>(tag)->OnEvent(ok);
}

}  // namespace opserve
