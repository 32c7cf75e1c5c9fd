// File: server/admission/admission.h
//
// Bounds what the server holds: requests accepted and not yet answered, and the bytes of their
// tensors. Also the point where a drain stops new requests and waits for the accepted ones.

#ifndef OPSERVE_SERVER_ADMISSION_ADMISSION_H_
#define OPSERVE_SERVER_ADMISSION_ADMISSION_H_

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "proto/base/mutex.h"

namespace opserve {

// Most that the server holds at a time.
struct AdmissionLimits {
  uint64_t max_requests = 1024;
  uint64_t max_bytes = uint64_t{1} << 30;
};

// Thread-safe. Must outlive its permits.
class Admission {
 public:
  // The right to hold one request; gives its share back when destroyed. Movable.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)), bytes_(other.bytes_) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(admission_, other.admission_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Permit();

   private:
    friend class Admission;
    Permit(Admission* admission, uint64_t bytes) : admission_(admission), bytes_(bytes) {}

    Admission* admission_ = nullptr;
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

  explicit Admission(AdmissionLimits limits) : limits_(limits) {}
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // A permit for a request whose tensors, inputs and output, take `bytes`. Fails with
  // TOO_MANY_REQUESTS, TOO_MANY_BYTES or DRAINING, each with a RetryInfo, or with
  // REQUEST_EXCEEDS_BUDGET.
  absl::StatusOr<Permit> Admit(uint64_t bytes);

  // Refuses every further request.
  void Close();

  // Waits until nothing is held, for at most `timeout`, or until Interrupt. Call after Close.
  Wait WaitIdle(std::chrono::milliseconds timeout);

  // Waits until no request has been refused for the length of `quiet`, for at most `timeout`, or
  // until Interrupt. Call after Close.
  void WaitQuiet(std::chrono::milliseconds quiet, std::chrono::milliseconds timeout);

  // Ends the present wait and all later ones at once.
  void Interrupt();

  Usage usage() const;

 private:
  void Release(uint64_t bytes);

  const AdmissionLimits limits_;
  mutable Mutex mutex_;
  CondVar changed_;
  Usage usage_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_while_closed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ADMISSION_ADMISSION_H_
