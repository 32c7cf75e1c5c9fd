// File: server/execute/run_queue.h
//
// Runs of one request that wait to be computed: one at a time, in order, by whoever is there.

#ifndef OPSERVE_SERVER_EXECUTE_RUN_QUEUE_H_
#define OPSERVE_SERVER_EXECUTE_RUN_QUEUE_H_

#include <deque>
#include <optional>

#include "absl/status/status.h"
#include "proto/base/mutex.h"
#include "server/wire/wire_message.h"

namespace opserve {

// A run is submitted like a request of its own, and answered perhaps before that returns, in the
// same thread or another one. Whoever is told to go on calls Begin, until it has nothing.
// Thread-safe.
class RunQueue {
 public:
  // What is to be done next, if anything.
  struct Step {
    // To be submitted; OnSubmitted is to be called once that has returned.
    std::optional<ReceivedMessage> run = {};
    // The request is to be refused with this.
    absl::Status refusal = absl::OkStatus();
  };

  // Adds a run, after which the caller is to go on. Dropped where the request has been given up.
  void Push(ReceivedMessage run);

  // Nothing while a run is at work, where none waits, and once the request has its outcome.
  Step Begin();

  // Whether the caller is to go on.
  bool OnSubmitted();
  // A run has been answered. Whether the caller is to go on; else whoever submitted it does.
  bool OnAnswered();

  // Gives the request up, with the reason that Begin hands out once no run is at work; after which
  // the caller is to go on. No effect the second time.
  void Stop(const absl::Status& why);

  // The request has its outcome.
  void End();
  bool has_ended() const;

 private:
  enum class Phase {
    kIdle,
    kSubmitting,  // a run is being submitted
    kAnswered,    // the same, and it has been answered
    kRunning,     // a run has been submitted
    kEnded,
  };

  mutable Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kIdle;
  std::deque<ReceivedMessage> waiting_ ABSL_GUARDED_BY(mutex_);
  // Why the request is given up; OK: it is not.
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_RUN_QUEUE_H_
