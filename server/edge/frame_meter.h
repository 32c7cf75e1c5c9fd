// File: server/edge/frame_meter.h
//
// Looks at the HTTP/2 frames of one connection before gRPC does, tells when there are more of a
// kind than an honest client sends, and keeps messages away that may not come.

#ifndef OPSERVE_SERVER_EDGE_FRAME_METER_H_
#define OPSERVE_SERVER_EDGE_FRAME_METER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/base/duration_histogram.h"
#include "server/base/token_bucket.h"
#include "server/edge/client_traffic.h"
#include "server/edge/close_reason.h"
#include "server/edge/frame_cursor.h"
#include "server/edge/stream_messages.h"

namespace opserve {

// What one connection may do.
struct FrameLimits {
  // Encoded bytes of one block of headers, with all that continues it. gRPC refuses calls with more
  // than 8 KiB of headers, so nobody needs more.
  uint64_t max_header_block_bytes = 64 << 10;
  // Frames that ask for work and bring no message, in tokens: CONTINUATION counts 1, and FrameMeter
  // has the others. So many at once, ...
  double burst = 40000;
  // ... and so many per second.
  double per_second = 10000;
  // Calls that are taken back as soon as they are begun, or end without a message. gRPC works on
  // all that it reads at once while everybody else waits, 20 us for each of these. A client that
  // loses patience with all of its calls at the same time has them for longer, so it is not meant.
  double lost_call_burst = 500;
  double lost_calls_per_second = 1000;
  // Pings, beside one for each message: clients of gRPC for Go send that many, to learn how much
  // the path holds, and a few more while a large answer comes.
  double ping_burst = 1000;
  double pings_per_second = 200;
  // New keys of TLS, each of which takes OpenSSL up to 26 us, or 5 us to refuse in TLS 1.2, while
  // nobody else is served. Clients that change them at all do so once for some gigabytes.
  double key_update_burst = 100;
  double key_updates_per_second = 10;
  // Calls of one client that have not sent their first message.
  int64_t max_waiting_calls = 4096;
  // How long such a call may send nothing. So many such calls are forgiven, and one more every ten
  // seconds. As long, a later message of which nothing comes counts as a whole.
  Clock::Duration message_limit = std::chrono::minutes(2);
  double forgiven_calls = 64;
  MessageLimits messages = {};
};

// Reads the client's bytes of a connection in plain text, in the order in which they come. It
// trusts nothing and keeps no payload, but changes that of messages which may not come
// (StreamMessages). Thread-safe.
class FrameMeter {
 public:
  // `client`: whose connection it is. `receive_times` gets the time from the headers of each call
  // until its first message is there; nullptr: nobody wants to know.
  FrameMeter(const FrameLimits& limits, std::shared_ptr<ClientTraffic> client,
             std::shared_ptr<DurationHistogram> receive_times = nullptr);
  ~FrameMeter() { Stop(); }
  FrameMeter(const FrameMeter&) = delete;
  FrameMeter& operator=(const FrameMeter&) = delete;

  // The next bytes, which it may change before gRPC gets them. kNone while the connection may go
  // on; otherwise nothing of `bytes` may reach gRPC, nor anything after them: the reason stays the
  // same for ever.
  CloseReason Take(absl::Span<char> bytes, Clock::TimePoint now);

  // The next bytes that the server sends, as what next_piece() returns until that is empty. A call
  // that it ends before the message came waits for none any more.
  void TakeSent(absl::FunctionRef<absl::string_view()> next_piece, Clock::TimePoint now);

  // The client has changed the keys of TLS, or asked for that. The same as Take without bytes, but
  // that it also counts on a connection that has ended: what came before the end costs as much.
  CloseReason TakeKeyUpdate(Clock::TimePoint now);

  // The same as Take without bytes: time has passed.
  CloseReason OnTick(Clock::TimePoint now) { return Take({}, now); }

  // The connection has ended: its calls no longer count for the client, and nothing is looked at
  // any more.
  void Stop();

  // Whether the client has sent the preface of HTTP/2 and its first frame.
  bool has_begun() const { return has_begun_.load(std::memory_order_relaxed); }

 private:
  // A call of which the client may send something.
  struct Call {
    Clock::TimePoint begun;
    Clock::TimePoint last_data;
    // Behind its last data, or the headers, in the bytes of the connection.
    uint64_t data_end = 0;
    StreamMessages messages = {};
    // It was forgiven that no message came.
    bool is_forgiven = false;
    // When the server ended it; the client may not know yet.
    std::optional<Clock::TimePoint> ended = std::nullopt;

    // Whether it counts as one whose first message is still to come.
    bool is_waiting() const { return !ended && !is_forgiven && !messages.has_message(); }
  };
  // By their streams.
  using Calls = absl::flat_hash_map<uint32_t, Call>;

  void TakeFrames(absl::Span<char> bytes, Clock::TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `header`: what gRPC has not had of the header before.
  void OnFrameHeader(absl::Span<char> header, Clock::TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHeaders(Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes gRPC reset the stream of the frame if that is due.
  void ResetStream(absl::Span<char> header) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnPayload(absl::Span<char> piece, Clock::TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnFrameEnd(Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHeaderBytes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The client has ended the call, by whatever it sent.
  void OnClientEnd(uint32_t stream, Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnServerEnd(uint32_t stream, Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing of the call counts for the client any longer.
  void Leave(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(Calls::iterator call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookForSilentCalls(Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnLostCall(uint32_t stream, Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps old_stream_.
  void LookForOldStreams(Clock::TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes `cost` from the bucket; what is not there is a violation.
  void Charge(TokenBucket& bucket, double cost, Clock::TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Violate(CloseReason reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FrameLimits limits_;
  const std::shared_ptr<ClientTraffic> client_;
  const std::shared_ptr<DurationHistogram> receive_times_;
  std::atomic<bool> has_begun_ = false;

  Mutex mutex_;
  CloseReason reason_ ABSL_GUARDED_BY(mutex_) = CloseReason::kNone;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  size_t preface_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  FrameCursor received_ ABSL_GUARDED_BY(mutex_);
  FrameCursor sent_ ABSL_GUARDED_BY(mutex_);
  // That which the client sends, or sent last.
  FrameHeader frame_ ABSL_GUARDED_BY(mutex_);
  // How many bytes of the connection came before the payload that is looked at.
  uint64_t position_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t block_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t last_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  // When the last stream began; one that began no later than `marked_`; and one that began some
  // milliseconds ago, as did all before it.
  Clock::TimePoint last_begun_ ABSL_GUARDED_BY(mutex_) = Clock::TimePoint::min();
  uint32_t marked_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::TimePoint marked_ ABSL_GUARDED_BY(mutex_) = Clock::TimePoint::min();
  uint32_t old_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  TokenBucket frames_ ABSL_GUARDED_BY(mutex_);
  TokenBucket lost_calls_ ABSL_GUARDED_BY(mutex_);
  TokenBucket pings_ ABSL_GUARDED_BY(mutex_);
  TokenBucket key_updates_ ABSL_GUARDED_BY(mutex_);
  TokenBucket forgiven_ ABSL_GUARDED_BY(mutex_);
  Calls calls_ ABSL_GUARDED_BY(mutex_);
  // How many of them gRPC is to be made to reset.
  size_t resets_due_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::TimePoint last_look_ ABSL_GUARDED_BY(mutex_) = Clock::TimePoint::min();
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_FRAME_METER_H_
