// File: server/rpc/poller.h
//
// A completion queue and the thread that works for it.

#ifndef OPSERVE_SERVER_RPC_POLLER_H_
#define OPSERVE_SERVER_RPC_POLLER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "grpcpp/alarm.h"
#include "grpcpp/completion_queue.h"
#include "proto/base/mutex.h"
#include "proto/transport/completion_tag.h"
#include "server/rpc/polled_call.h"

namespace opserve {

// Calls stay on the queue on which they began, so all their events come from one thread. Start and
// Stop are for one thread at a time; one that was started must be stopped before it is destroyed.
class Poller {
 public:
  // Calls whose clients keep them waiting for longer than `stall_limit` are given up. `number`: of
  // this one among the server's, for the name of its thread.
  Poller(std::unique_ptr<grpc::ServerCompletionQueue> queue, std::chrono::milliseconds stall_limit,
         int number = 0);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  grpc::ServerCompletionQueue& queue() { return *queue_; }

  // Starts the thread.
  void Start();

  // Waits until every call is gone, and ends the thread. To be called after the server's Shutdown.
  // Where there is no thread, as the server did not get so far, this one does that work.
  void Stop();

  // A call begins, or is gone: no operation of it is under way, and none will be started. Only in
  // the poller's thread.
  void AddCall(PolledCall& call);
  void RemoveCall(PolledCall& call);

  // Has OnPutOff of the call called before the thread waits, and before any event but those with
  // which the call goes on. The call must not end before, and puts off one thing at a time. Only in
  // the poller's thread.
  void PutOff(PolledCall& call);

  // To be asked by threads that have to do with a call.
  bool is_current_thread() const { return std::this_thread::get_id() == thread_id_; }

  // From now on a client has only `stall_limit` to move, if that is less than before, and a large
  // answer is expected to be taken faster. For a server that is to end. Only the first call has an
  // effect. Thread-safe.
  void HurryUp(std::chrono::milliseconds stall_limit);

  // Whether the thread takes an event within `limit`: it lives, and is not stuck in another one. By
  // one thread at a time, between Start and Stop.
  bool Responds(std::chrono::milliseconds limit);

  // How many ticks more than others a client has for an answer of so many bytes, of which nobody
  // sees how it advances. Only in the poller's thread.
  uint64_t ExtraTicks(uint64_t bytes) const;

 private:
  void Run();
  // Waits for the next event. False once the queue is shut down and empty.
  bool Next(void** tag, bool* ok);
  void DoWhatWasPutOff();
  void OnStop(bool ok);
  void OnTick(bool ok);
  void OnHurry(bool ok);
  void OnProbe(bool ok);
  void SetTickAlarm();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  const int number_;
  std::chrono::milliseconds tick_;
  uint64_t bytes_per_second_;
  std::thread thread_;
  std::thread::id thread_id_;  // set before the first call
  grpc::Alarm stop_alarm_;
  MemberTag<Poller, &Poller::OnStop> stop_{*this};

  grpc::Alarm tick_alarm_;
  MemberTag<Poller, &Poller::OnTick> ticked_{*this};

  grpc::Alarm hurry_alarm_;
  MemberTag<Poller, &Poller::OnHurry> hurry_{*this};
  std::atomic<bool> is_hurried_ = false;
  // What HurryUp was told, for the thread.
  std::atomic<std::chrono::milliseconds> hurried_tick_{std::chrono::milliseconds(0)};

  grpc::Alarm probe_alarm_;
  MemberTag<Poller, &Poller::OnProbe> probe_{*this};
  Mutex probe_mutex_;
  CondVar probed_;
  // A probe is on its way, which the thread has not taken.
  bool is_probed_ ABSL_GUARDED_BY(probe_mutex_) = false;

  // The calls, the newest first; like the flags they belong to the thread.
  PolledCall* calls_ = nullptr;
  PolledCall* put_off_ = nullptr;
  bool is_stopping_ = false;
  bool is_ended_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_POLLER_H_
