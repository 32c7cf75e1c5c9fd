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

// Of what may happen so often in a second; 0: as often as it likes.
TokenBucket BucketOf(double per_second) {
  constexpr double kNoLimit = 1e18;
  const double rate = per_second > 0 ? per_second : kNoLimit;
  return TokenBucket(std::max(rate, 1.0), rate);
}

}  // namespace

Admission::Permit::~Permit() {
  if (admission_ != nullptr) admission_->Release(*share_, bytes_);
}

Admission::~Admission() { assert(usage() == Usage()); }

absl::StatusOr<Admission::Permit> Admission::Admit(absl::string_view client, uint64_t bytes,
                                                   const ShareLimits& own) {
  MutexLock lock(mutex_);
  if (closed_) {
    ++refused_while_closed_;
    return DrainingError();
  }
  const auto found = shares_.find(client);
  if (absl::Status status =
          Check(found == shares_.end() ? Usage() : found->second.usage, bytes, own);
      !status.ok()) {
    return status;
  }
  Share& share = found == shares_.end() ? AddShare(client) : found->second;
  if (own.has_rates()) {
    if (absl::Status status = Charge(share, bytes, own); !status.ok()) return status;
  }
  for (Usage* const usage : {&usage_, &share.usage}) {
    ++usage->requests;
    usage->bytes += bytes;
  }
  return Permit(this, &share, bytes);
}

absl::Status Admission::CheckRoom(absl::string_view client, const ShareLimits& own) {
  MutexLock lock(mutex_);
  if (closed_) {
    ++refused_while_closed_;
    return DrainingError();
  }
  const auto found = shares_.find(client);
  if (absl::Status status = Check(found == shares_.end() ? Usage() : found->second.usage, 1, own);
      !status.ok()) {
    return status;
  }
  if (!own.has_rates()) return absl::OkStatus();
  Rate* const rate = found == shares_.end() ? nullptr : FindRate(found->second, own);
  // So it is nearly always, and nobody has to look at a clock.
  if (rate == nullptr || rate->had(1)) return absl::OkStatus();
  return CheckRate(*rate, 1, own, clock_.Now());
}

Admission::Rate::Rate(const ShareLimits& own)
    : limits(own),
      requests(BucketOf(own.requests_per_second)),
      bytes(BucketOf(own.bytes_per_second)),
      device_ms(BucketOf(own.device_ms_per_second)) {}

Admission::Share& Admission::ShareOf(absl::string_view client) {
  const auto found = shares_.find(client);
  return found == shares_.end() ? AddShare(client) : found->second;
}

Admission::Share& Admission::AddShare(absl::string_view client) {
  if (shares_.size() >= most_shares_) {
    absl::erase_if(shares_, [now = clock_.Now()](auto& share) {
      return share.second.usage.requests == 0 &&
             std::ranges::all_of(share.second.rates, [&](Rate& rate) { return rate.is_full(now); });
    });
    most_shares_ = std::max<size_t>(256, 2 * shares_.size());
  }
  const auto made = shares_.try_emplace(std::string(client)).first;
  made->second.client = &made->first;
  return made->second;
}

Admission::Rate* Admission::FindRate(Share& share, const ShareLimits& own) {
  const auto found =
      std::ranges::find_if(share.rates, [&](const Rate& rate) { return rate.is_of(own); });
  return found == share.rates.end() ? nullptr : &*found;
}

Admission::Rate& Admission::RateOf(Share& share, const ShareLimits& own, Clock::TimePoint now) {
  if (Rate* const rate = FindRate(share, own); rate != nullptr) return *rate;
  std::erase_if(share.rates, [&](Rate& rate) { return rate.is_full(now); });
  return share.rates.emplace_back(own);
}

absl::Status Admission::Charge(Share& share, uint64_t bytes, const ShareLimits& own) {
  const Clock::TimePoint now = clock_.Now();
  Rate& rate = RateOf(share, own, now);
  if (absl::Status status = CheckRate(rate, bytes, own, now); !status.ok()) return status;
  rate.requests.TakeAll(1, now);
  rate.bytes.TakeAll(static_cast<double>(bytes), now);
  return absl::OkStatus();
}

absl::Status Admission::CheckRate(Rate& rate, uint64_t bytes, const ShareLimits& own,
                                  Clock::TimePoint now) {
  const Clock::Duration owed = rate.device_ms.WaitFor(0, now);
  if (owed > Clock::Duration::zero()) {
    return MakeRetryableError(
        ErrorReason::RATE_EXCEEDED,
        absl::StrCat("The requests of this client have taken more than the ",
                     own.device_ms_per_second, " ms of devices' time per second that they may."),
        std::chrono::ceil<milliseconds>(owed));
  }
  const Clock::Duration wait =
      std::max(rate.requests.WaitFor(1, now), rate.bytes.WaitFor(static_cast<double>(bytes), now));
  if (wait > Clock::Duration::zero()) {
    return MakeRetryableError(
        ErrorReason::RATE_EXCEEDED,
        absl::StrCat("This client begins requests faster than the ", own.requests_per_second,
                     " requests and ", own.bytes_per_second,
                     " bytes per second that it may (0: no limit)."),
        std::chrono::ceil<milliseconds>(wait));
  }
  return absl::OkStatus();
}

void Admission::ChargeDeviceTime(absl::string_view client, Clock::Duration time,
                                 const ShareLimits& own) {
  if (own.device_ms_per_second <= 0) return;
  MutexLock lock(mutex_);
  const Clock::TimePoint now = clock_.Now();
  RateOf(ShareOf(client), own, now)
      .device_ms.TakeAll(std::chrono::duration<double, std::milli>(time).count(), now);
}

absl::Status Admission::Check(const Usage& of_client, uint64_t bytes,
                              const ShareLimits& own) const {
  const uint64_t own_bytes = std::min(limits_.max_bytes_per_client, own.max_bytes);
  const uint64_t own_requests = std::min(limits_.max_requests_per_client, own.max_requests);
  const uint64_t most_bytes = std::min(limits_.max_bytes, own_bytes);
  if (bytes > most_bytes) {
    return MakeError(
        ErrorReason::REQUEST_EXCEEDS_BUDGET,
        absl::StrCat("The tensors of the request take ", bytes, " bytes; the server holds at most ",
                     most_bytes, " of one client."),
        {{"limit", absl::StrCat(most_bytes)}});
  }
  if (of_client.requests >= own_requests) {
    return TooManyRequests("this client", of_client.requests, own_requests);
  }
  if (usage_.requests >= limits_.max_requests) {
    return TooManyRequests("all clients", usage_.requests, limits_.max_requests);
  }
  // What is held may be more than a limit that came later.
  if (bytes > own_bytes - std::min(own_bytes, of_client.bytes)) {
    return TooManyBytes("this client", of_client.bytes, bytes, own_bytes);
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
  if (share.usage.requests == 0 && share.rates.empty()) shares_.erase(shares_.find(*share.client));
  // Under the lock: once it is free, a drain may go on to destroy this object.
  if (usage_.requests == 0) changed_.NotifyAll();
}

void Admission::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

bool Admission::is_open() const {
  MutexLock lock(mutex_);
  return !closed_;
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

bool Admission::is_interrupted() const {
  MutexLock lock(mutex_);
  return interrupted_;
}

Admission::Usage Admission::usage() const {
  MutexLock lock(mutex_);
  return usage_;
}

Admission::ClientUsage Admission::LargestClients(size_t count) const {
  ClientUsage result;
  MutexLock lock(mutex_);
  std::vector<const Share*> all;
  for (const auto& [client, share] : shares_) {
    if (share.usage.requests > 0) all.push_back(&share);
  }
  const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(count, all.size()));
  std::partial_sort(all.begin(), end, all.end(),
                    [](const Share* a, const Share* b) { return a->usage.bytes > b->usage.bytes; });
  result.others = usage_;
  for (auto share = all.begin(); share != end; ++share) {
    result.largest.emplace_back(*(*share)->client, (*share)->usage);
    result.others.requests -= (*share)->usage.requests;
    result.others.bytes -= (*share)->usage.bytes;
  }
  return result;
}

}  // namespace opserve
