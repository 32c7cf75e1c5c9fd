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

absl::Status TooManyRequests(absl::string_view whose, uint64_t held, uint64_t limit) {
  return MakeRetryableError(
      ErrorReason::TOO_MANY_REQUESTS,
      absl::StrCat("The server holds ", held, " requests of ", whose, ", as many as it may."),
      kRetryWhenFull, {{"limit", absl::StrCat(limit)}});
}

absl::Status TooManyBytes(absl::string_view whose, uint64_t held, uint64_t asked, uint64_t limit) {
  return MakeRetryableError(ErrorReason::TOO_MANY_BYTES,
                            absl::StrCat("The server holds tensors of ", held, " bytes of ", whose,
                                         "; ", asked, " more exceed the limit of ", limit, "."),
                            kRetryWhenFull, {{"limit", absl::StrCat(limit)}});
}

}  // namespace

Admission::Permit::~Permit() {
  if (admission_ != nullptr) admission_->Release(*share_, bytes_);
}

Admission::~Admission() { assert(usage() == Usage()); }

absl::StatusOr<Admission::Permit> Admission::Admit(absl::string_view client, uint64_t bytes) {
  MutexLock lock(mutex_);
  if (closed_) {
    ++refused_while_closed_;
    return DrainingError();
  }
  const auto found = shares_.find(client);
  if (absl::Status status = Check(found == shares_.end() ? Usage() : found->second.usage, bytes);
      !status.ok()) {
    return status;
  }
  const auto kept = found == shares_.end() ? shares_.try_emplace(std::string(client)).first : found;
  Share& share = kept->second;
  share.client = &kept->first;
  for (Usage* const usage : {&usage_, &share.usage}) {
    ++usage->requests;
    usage->bytes += bytes;
  }
  return Permit(this, &share, bytes);
}

absl::Status Admission::Check(const Usage& of_client, uint64_t bytes) const {
  const uint64_t most_bytes = std::min(limits_.max_bytes, limits_.max_bytes_per_client);
  if (bytes > most_bytes) {
    return MakeError(
        ErrorReason::REQUEST_EXCEEDS_BUDGET,
        absl::StrCat("The tensors of the request take ", bytes, " bytes; the server holds at most ",
                     most_bytes, " of one client."),
        {{"limit", absl::StrCat(most_bytes)}});
  }
  if (of_client.requests >= limits_.max_requests_per_client) {
    return TooManyRequests("this client", of_client.requests, limits_.max_requests_per_client);
  }
  if (usage_.requests >= limits_.max_requests) {
    return TooManyRequests("all clients", usage_.requests, limits_.max_requests);
  }
  if (bytes > limits_.max_bytes_per_client - of_client.bytes) {
    return TooManyBytes("this client", of_client.bytes, bytes, limits_.max_bytes_per_client);
  }
  if (bytes > limits_.max_bytes - usage_.bytes) {
    return TooManyBytes("all clients", usage_.bytes, bytes, limits_.max_bytes);
  }
  return absl::OkStatus();
}

void Admission::Release(Share& share, uint64_t bytes) {
  MutexLock lock(mutex_);
  for (Usage* const usage : {&usage_, &share.usage}) {
    --usage->requests;
    usage->bytes -= bytes;
  }
  if (share.usage.requests == 0) shares_.erase(shares_.find(*share.client));
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
