// File: server/admission/admission.h
//
// Bounds what the server holds, of each client and of all: requests accepted and not yet answered,
// and the bytes of their tensors. Also the point where a drain stops new requests and waits for the
// accepted ones.

#ifndef OPSERVE_SERVER_ADMISSION_ADMISSION_H_
#define OPSERVE_SERVER_ADMISSION_ADMISSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/base/token_bucket.h"

namespace opserve {

// Most that the server holds at a time, of all clients and of one.
struct AdmissionLimits {
  uint64_t max_requests = 1024;
  uint64_t max_bytes = uint64_t{1} << 30;
  uint64_t max_requests_per_client = UINT64_MAX;
  uint64_t max_bytes_per_client = UINT64_MAX;
};

// What one client in particular may have, where that is less than what every client may.
struct ShareLimits {
  uint64_t max_requests = UINT64_MAX;
  uint64_t max_bytes = UINT64_MAX;
  // How many may begin in a second, in the long run; at most those of one second at once. A request
  // with more bytes than those of a second begins where none are owed. 0: no limit.
  double requests_per_second = 0;
  double bytes_per_second = 0;
  // Milliseconds of devices' time that requests may take in a second, in the long run. As that is
  // known only when they have run, requests are refused while more was taken. 0: no limit.
  double device_ms_per_second = 0;

  bool has_rates() const {
    return requests_per_second > 0 || bytes_per_second > 0 || device_ms_per_second > 0;
  }
};

// Thread-safe. Must outlive its permits.
class Admission {
  struct Share;

 public:
  // The right to hold one request; gives its share back when destroyed. Movable.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)),
          share_(other.share_),
          bytes_(other.bytes_) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(admission_, other.admission_);
      std::swap(share_, other.share_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Permit();

   private:
    friend class Admission;
    Permit(Admission* admission, Share* share, uint64_t bytes)
        : admission_(admission), share_(share), bytes_(bytes) {}

    Admission* admission_ = nullptr;
    // What its client holds; there while any permit of the client is.
    Share* share_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // What is held now.
  struct Usage {
    uint64_t requests = 0;
    uint64_t bytes = 0;
    bool operator==(const Usage&) const = default;
  };

  // How a wait ended.
  enum class Wait { kIdle, kTimedOut, kInterrupted };

  // `clock`, by which rates go, must outlive the object.
  explicit Admission(AdmissionLimits limits, const Clock& clock = SteadyClock())
      : limits_(limits), clock_(clock) {}
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // A permit for a request of `client` whose tensors, inputs and output, take `bytes`. The client
  // is the proven identity of a caller (server/access/caller.h): it has one share, whatever names
  // it gives itself, of which `own` may allow less than the rest. Fails with TOO_MANY_REQUESTS,
  // TOO_MANY_BYTES, RATE_EXCEEDED or DRAINING, each with a RetryInfo, or with
  // REQUEST_EXCEEDS_BUDGET.
  absl::StatusOr<Permit> Admit(absl::string_view client, uint64_t bytes,
                               const ShareLimits& own = {});

  // Whether there is room for another request of `client`, of which nothing else is known: the
  // error that Admit has for a single byte. Nothing is held or charged.
  absl::Status CheckRoom(absl::string_view client, const ShareLimits& own = {});

  // Charges `client` with the time that a device has worked for a request of it. Nothing where
  // `own`, which is that of the request's Admit, has no limit on it.
  void ChargeDeviceTime(absl::string_view client, Clock::Duration time, const ShareLimits& own);

  // Refuses every further request.
  void Close();
  // Whether that has not been called.
  bool is_open() const;

  // Waits until nothing is held, for at most `timeout`, or until Interrupt. Call after Close.
  Wait WaitIdle(std::chrono::milliseconds timeout);

  // Waits until no request has been refused for the length of `quiet`, for at most `timeout`, or
  // until Interrupt. Call after Close.
  void WaitQuiet(std::chrono::milliseconds quiet, std::chrono::milliseconds timeout);

  // Ends the present wait and all later ones at once.
  void Interrupt();
  // Whether that has been called.
  bool is_interrupted() const;

  Usage usage() const;

  // Who holds most, as of one moment.
  struct ClientUsage {
    // Clients, by the proven part, that hold most bytes, the largest first.
    std::vector<std::pair<std::string, Usage>> largest;
    // What all others hold together.
    Usage others;
  };

  // The `count` clients that hold most. Looks at every client that holds something.
  ClientUsage LargestClients(size_t count) const;

  const AdmissionLimits& limits() const { return limits_; }

 private:
  // How fast a client may begin requests, and use devices.
  struct Rate {
    explicit Rate(const ShareLimits& own);
    bool is_full(Clock::TimePoint now) {
      return requests.is_full(now) && bytes.is_full(now) && device_ms.is_full(now);
    }
    // Whether a request of so many bytes was allowed when this was last looked at.
    bool had(double byte_count) const {
      return requests.had(1) && bytes.had(byte_count) && device_ms.had(0);
    }
    bool is_of(const ShareLimits& own) const {
      return own.requests_per_second == limits.requests_per_second &&
             own.bytes_per_second == limits.bytes_per_second &&
             own.device_ms_per_second == limits.device_ms_per_second;
    }

    ShareLimits limits;
    TokenBucket requests;
    TokenBucket bytes;
    TokenBucket device_ms;
  };

  // What is known of one client.
  struct Share {
    // What it holds.
    Usage usage;
    // Limits of its own on rates, of which something may be missing. There are several where it
    // calls under several rules of a policy, or of one that has changed: none makes up for what is
    // missing of another one.
    std::vector<Rate> rates;
    // Under which the share is found; lives as long as it.
    const std::string* client = nullptr;
  };

  absl::Status Check(const Usage& of_client, uint64_t bytes, const ShareLimits& own) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Charges a request to the rate of a client, if that allows it.
  absl::Status Charge(Share& share, uint64_t bytes, const ShareLimits& own)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK where the rate allows a request of so many bytes.
  static absl::Status CheckRate(Rate& rate, uint64_t bytes, const ShareLimits& own,
                                Clock::TimePoint now);
  // The share of a client, which is there from now on.
  Share& ShareOf(absl::string_view client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // That of a client who has none.
  Share& AddShare(absl::string_view client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a client has of these limits; nullptr: all.
  static Rate* FindRate(Share& share, const ShareLimits& own);
  // The same, which begins with all.
  static Rate& RateOf(Share& share, const ShareLimits& own, Clock::TimePoint now);
  void Release(Share& share, uint64_t bytes);

  const AdmissionLimits limits_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  Usage usage_ ABSL_GUARDED_BY(mutex_);
  // Clients that hold something or of whose rates something is missing, by their identities.
  absl::node_hash_map<std::string, Share> shares_ ABSL_GUARDED_BY(mutex_);
  // When there are so many, those that hold nothing and of whom nothing is missing are forgotten.
  size_t most_shares_ ABSL_GUARDED_BY(mutex_) = 256;
  uint64_t refused_while_closed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ADMISSION_ADMISSION_H_
