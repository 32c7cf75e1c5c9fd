#include "server/errors/queue_errors.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

ErrorMetadata QueuedFor(Clock::Duration queued) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(queued);
  return {{"queued_ms", absl::StrCat(milliseconds.count())}};
}

}  // namespace

absl::Status DeadlinePassedError(Clock::Duration queued) {
  return MakeError(ErrorReason::DEADLINE_PASSED,
                   "The deadline passed while the request was queued; it was not started.",
                   QueuedFor(queued));
}

absl::Status CancelledError(Clock::Duration queued) {
  return MakeError(ErrorReason::REQUEST_CANCELLED,
                   "The client cancelled the request while it was queued; it was not started.",
                   QueuedFor(queued));
}

absl::Status StoppedError() {
  return MakeError(ErrorReason::REQUEST_CANCELLED,
                   "The client gave the request up, or its deadline passed, while it ran.");
}

}  // namespace opserve
