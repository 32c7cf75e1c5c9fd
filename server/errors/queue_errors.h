// File: server/errors/queue_errors.h
//
// The errors of requests that nobody waits for any more. Stateless, safe to use from any thread.

#ifndef OPSERVE_SERVER_ERRORS_QUEUE_ERRORS_H_
#define OPSERVE_SERVER_ERRORS_QUEUE_ERRORS_H_

#include "absl/status/status.h"
#include "server/base/clock.h"

namespace opserve {

// DEADLINE_PASSED: the request waited for `queued` and was not started.
absl::Status DeadlinePassedError(Clock::Duration queued);

// REQUEST_CANCELLED, in the same situation.
absl::Status CancelledError(Clock::Duration queued);

// REQUEST_CANCELLED: its client gave the request up, or its deadline passed, while it ran.
absl::Status StoppedError();

}  // namespace opserve

#endif  // OPSERVE_SERVER_ERRORS_QUEUE_ERRORS_H_
