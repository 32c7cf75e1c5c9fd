#include "server/execute/answer_queue.h"

#include <algorithm>
#include <cstdint>

namespace opserve {

OutgoingPayload AnswerQueue::Entry::TakePiece() {
  if (is_sent()) return {};
  OutgoingPayload& whole = answer.payloads[payload];
  const uint64_t bytes = std::min(whole.bytes - sent, kStreamPieceBytes);
  const bool is_rest = sent + bytes == whole.bytes;
  OutgoingPayload piece = sent == 0 && is_rest ? std::move(whole) : whole.Part(sent, bytes);
  sent += bytes;
  if (is_rest) {
    // The piece still has the memory.
    whole = {};
    ++payload;
    sent = 0;
  }
  return piece;
}

AnswerQueue::Message AnswerQueue::Pop() {
  Entry entry = std::move(answers_.front());
  answers_.pop_front();
  StreamAnswer& answer = entry.answer;
  const bool is_first = entry.payload == 0 && entry.sent == 0;
  const auto number = static_cast<uint32_t>(entry.payload);
  Message message = {.piece = entry.TakePiece(), .is_end = entry.is_sent()};
  // The others have the id, and which payload the piece is of, and nothing else.
  message.header.set_id(answer.header.id());
  if (answer.is_of_run ? message.is_end : is_first) {
    message.header.Swap(&answer.header);
    answer.header.set_id(message.header.id());
  }
  message.header.set_payload_number(number);
  if (message.is_end) {
    message.job = std::move(answer.job);
    message.budget_bytes = answer.budget_bytes;
  } else if (answer.is_of_run) {
    answers_.push_front(std::move(entry));
  } else {
    answers_.push_back(std::move(entry));
  }
  return message;
}

}  // namespace opserve
