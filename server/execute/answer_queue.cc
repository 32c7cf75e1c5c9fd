#include "server/execute/answer_queue.h"

#include <cstdint>

namespace opserve {

AnswerQueue::Message AnswerQueue::Pop() {
  Entry entry = std::move(answers_.front());
  answers_.pop_front();
  StreamAnswer& answer = entry.answer;
  Message message;
  message.header.set_id(answer.header.id());
  // What follows the first message has the id and nothing else.
  if (entry.sent == 0) {
    message.header.Swap(&answer.header);
    answer.header.set_id(message.header.id());
  }
  const uint64_t missing = answer.payload.bytes - entry.sent;
  if (missing > kStreamPieceBytes) {
    message.piece = answer.payload.Part(entry.sent, kStreamPieceBytes);
    entry.sent += kStreamPieceBytes;
    answers_.push_back(std::move(entry));
    return message;
  }
  message.piece =
      entry.sent == 0 ? std::move(answer.payload) : answer.payload.Part(entry.sent, missing);
  message.job = std::move(answer.job);
  message.budget_bytes = answer.budget_bytes;
  return message;
}

}  // namespace opserve
