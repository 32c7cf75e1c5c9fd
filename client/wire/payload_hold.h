// File: client/wire/payload_hold.h
//
// Lends memory of a caller to gRPC, and tells when gRPC has given it back. gRPC may keep what a
// call sent beyond the end of that call, while bytes wait for the socket.

#ifndef OPSERVE_CLIENT_WIRE_PAYLOAD_HOLD_H_
#define OPSERVE_CLIENT_WIRE_PAYLOAD_HOLD_H_

#include <cstddef>
#include <functional>
#include <span>

#include "absl/time/time.h"
#include "grpcpp/support/slice.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// What one call has lent. Thread-safe. May be destroyed once it is released, and not before.
class PayloadHold {
 public:
  PayloadHold() = default;
  PayloadHold(const PayloadHold&) = delete;
  PayloadHold& operator=(const PayloadHold&) = delete;

  // A slice of exactly these bytes, which are not copied; lent until the last copy of it is gone.
  grpc::Slice Lend(std::span<const std::byte> bytes);

  // Whether nothing is lent.
  bool IsReleased();

  // Waits until nothing is lent, for at most `limit`. Returns IsReleased().
  bool WaitFor(absl::Duration limit);

  // Runs `action` once nothing is lent: now, or later on the thread that gives the last slice up.
  // It may destroy the hold. To be called once, after the last Lend.
  void OnRelease(std::function<void()> action);

 private:
  static void GiveBack(void* hold);

  Mutex mutex_;
  CondVar released_;
  int lent_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> on_release_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_PAYLOAD_HOLD_H_
