#include "server/execute/answer_queue.h"

#include <algorithm>

namespace opserve {

AnswerQueue::Message AnswerQueue::Pop() {
  Entry entry = std::move(answers_.front());
  answers_.pop_front();
  StreamAnswer& answer = entry.answer;
  if (entry.sent == 0) {
    answer.header.set_payload_bytes(answer.payload.bytes);
  } else {
    // What follows the first message has the id and nothing else.
    answer.header.clear_response();
    answer.header.clear_payload_bytes();
  }
  const OutgoingPayload piece = PartOf(
      answer.payload, entry.sent, std::min(answer.payload.bytes - entry.sent, kStreamPieceBytes));
  Message message = {.bytes = ComposeMessage(answer.header, {&piece, 1})};
  entry.sent += piece.bytes;
  if (entry.sent < answer.payload.bytes) {
    answers_.push_back(std::move(entry));
  } else {
    message.job = std::move(answer.job);
    message.budget_bytes = answer.budget_bytes;
  }
  return message;
}

}  // namespace opserve
