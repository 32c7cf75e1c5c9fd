#include "server/admission/admission.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;

// A full server works off a good part of its queue in this time; clients add jitter.
constexpr milliseconds kRetryWhenFull{50};

}  // namespace

Admission::Permit::~Permit() {
  if (admission_ != nullptr) admission_->Release(bytes_);
}

Admission::~Admission() { assert(usage() == Usage()); }

absl::StatusOr<Admission::Permit> Admission::Admit(uint64_t bytes) {
  MutexLock lock(mutex_);
  if (closed_) {
    ++refused_while_closed_;
    return DrainingError();
  }
  if (bytes > limits_.max_bytes) {
    return MakeError(ErrorReason::REQUEST_EXCEEDS_BUDGET,
                     absl::StrCat("The tensors of the request take ", bytes,
                                  " bytes; the server holds at most ", limits_.max_bytes, "."),
                     {{"limit", absl::StrCat(limits_.max_bytes)}});
  }
  if (usage_.requests >= limits_.max_requests) {
    return MakeRetryableError(
        ErrorReason::TOO_MANY_REQUESTS,
        absl::StrCat("The server holds ", usage_.requests, " requests, as many as it may."),
        kRetryWhenFull, {{"limit", absl::StrCat(limits_.max_requests)}});
  }
  if (bytes > limits_.max_bytes - usage_.bytes) {
    return MakeRetryableError(
        ErrorReason::TOO_MANY_BYTES,
        absl::StrCat("The server holds tensors of ", usage_.bytes, " bytes; ", bytes,
                     " more exceed the limit of ", limits_.max_bytes, "."),
        kRetryWhenFull, {{"limit", absl::StrCat(limits_.max_bytes)}});
  }
  ++usage_.requests;
  usage_.bytes += bytes;
  return Permit(this, bytes);
}

void Admission::Release(uint64_t bytes) {
  MutexLock lock(mutex_);
  --usage_.requests;
  usage_.bytes -= bytes;
  // Under the lock: once it is free, a drain may go on to destroy this object.
  if (usage_.requests == 0) changed_.NotifyAll();
}

void Admission::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

Admission::Wait Admission::WaitIdle(milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  while (usage_.requests > 0 && !interrupted_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  if (usage_.requests == 0) return Wait::kIdle;
  return interrupted_ ? Wait::kInterrupted : Wait::kTimedOut;
}

void Admission::WaitQuiet(milliseconds quiet, milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  auto quiet_since = std::chrono::steady_clock::now();
  uint64_t seen = refused_while_closed_;
  while (!interrupted_) {
    const auto wake_up = std::min(quiet_since + quiet, deadline);
    if (std::chrono::steady_clock::now() >= wake_up) return;
    changed_.WaitUntil(mutex_, wake_up);
    if (refused_while_closed_ == seen) continue;
    seen = refused_while_closed_;
    quiet_since = std::chrono::steady_clock::now();
  }
}

void Admission::Interrupt() {
  MutexLock lock(mutex_);
  interrupted_ = true;
  changed_.NotifyAll();
}

Admission::Usage Admission::usage() const {
  MutexLock lock(mutex_);
  return usage_;
}

}  // namespace opserve
