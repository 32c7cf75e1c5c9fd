// File: server/execute/answer_queue.h
//
// What a stream has yet to send: answers, cut into messages of bounded size that take turns.

#ifndef OPSERVE_SERVER_EXECUTE_ANSWER_QUEUE_H_
#define OPSERVE_SERVER_EXECUTE_ANSWER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "grpcpp/support/byte_buffer.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Most bytes of a payload in one message. Larger messages gain nothing, and smaller answers would
// wait for longer behind them.
inline constexpr uint64_t kStreamPieceBytes = uint64_t{1} << 20;

// The answer to a request of a stream, or to one run of it, or a message about it that comes
// before.
struct StreamAnswer {
  // What its first message has beside bytes; of a run the last one.
  v1::ExecuteStreamResponse header;
  bool is_of_run = false;
  // One after the other, no piece of two of them in a message; nearly always there is one.
  absl::InlinedVector<OutgoingPayload, 1> payloads = {};
  // Whether nothing else about the request follows.
  bool is_last = true;
  // What is held until the whole answer has been sent, and what that takes of the stream's budget.
  std::shared_ptr<void> job = nullptr;
  uint64_t budget_bytes = 0;
};

// Not thread-safe.
class AnswerQueue {
 public:
  void Push(StreamAnswer answer) { answers_.push_back({std::move(answer)}); }

  bool empty() const { return answers_.empty(); }
  size_t size() const { return answers_.size(); }

  void Swap(AnswerQueue& other) { answers_.swap(other.answers_); }

  // A message to send.
  struct Message {
    v1::ExecuteStreamResponse header = {};
    // What of a payload goes with it.
    OutgoingPayload piece = {};
    // Whether it is the last message of its answer. Only that has the job and the budget.
    bool is_end = false;
    std::shared_ptr<void> job = nullptr;
    uint64_t budget_bytes = 0;

    grpc::ByteBuffer Compose() const { return ComposeMessage(header, {&piece, 1}); }
  };

  // The next message; the queue must not be empty. An answer that is not complete with it goes to
  // the end of the queue, but for that of a run: those are small, and come one after the other.
  // Destroys neither jobs nor payloads.
  Message Pop();

 private:
  struct Entry {
    StreamAnswer answer;
    // The number of the payload that is being sent, and how many bytes of it earlier messages had.
    size_t payload = 0;
    uint64_t sent = 0;

    // What the next message has of the payload.
    OutgoingPayload TakePiece();
    bool is_sent() const { return payload >= answer.payloads.size(); }
  };

  std::deque<Entry> answers_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_ANSWER_QUEUE_H_
