// File: client/wire/payload_hold.h
//
// Lends memory of a caller to gRPC, and tells when gRPC has given it back. gRPC may keep what a
// call sent beyond the end of that call, while bytes wait for the socket.

#ifndef OPSERVE_CLIENT_WIRE_PAYLOAD_HOLD_H_
#define OPSERVE_CLIENT_WIRE_PAYLOAD_HOLD_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>

#include "absl/time/time.h"
#include "grpcpp/support/slice.h"

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

  // std::mutex, which ThreadSanitizer understands; it guards all that follows.
  std::mutex mutex_;
  std::condition_variable released_;
  int lent_ = 0;
  std::function<void()> on_release_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_PAYLOAD_HOLD_H_
