// File: server/rpc/polled_call.h
//
// A call as its poller sees it, and the watch over clients that keep it waiting.

#ifndef OPSERVE_SERVER_RPC_POLLED_CALL_H_
#define OPSERVE_SERVER_RPC_POLLED_CALL_H_

#include <cstdint>

namespace opserve {

// Counts how long a client keeps a call waiting. Belongs to one thread.
class StallWatch {
 public:
  // A call is given up when it has waited for more than this many ticks in a row.
  static constexpr int kTicks = 4;

  // To be called at every tick. `is_waiting`: whether it is the client's turn to send or to take
  // something; `progress`: a number that changes with whatever it does. True where it has stalled,
  // for `extra_ticks` beyond the usual.
  bool IsStalled(bool is_waiting, uint64_t progress, uint64_t extra_ticks = 0) {
    if (!is_waiting || progress != progress_) {
      progress_ = progress;
      ticks_ = 0;
      return false;
    }
    return ++ticks_ > kTicks + extra_ticks;
  }

 private:
  uint64_t progress_ = 0;
  uint64_t ticks_ = 0;
};

// A call that a poller works for. Belongs to the poller's thread.
class PolledCall {
 public:
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;

  // Time has passed: the call is given up if its client has stalled. The call may end here.
  virtual void OnTick() = 0;

  // Of a call that has put something off, see Poller::PutOff. Whether it is to have the event of
  // this tag before it does that.
  virtual bool GoesOnWith(const void* /*tag*/) const { return false; }
  // Does what it put off. The call may end here.
  virtual void OnPutOff() {}

 protected:
  PolledCall() = default;
  virtual ~PolledCall() = default;

 private:
  friend class Poller;

  PolledCall* next_ = nullptr;
  PolledCall* previous_ = nullptr;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_POLLED_CALL_H_
