#include "client/stream/stream_outbox.h"

#include <algorithm>

namespace opserve::client_internal {
namespace {

// Requests in pieces that take turns.
constexpr size_t kTurns = 2;

grpc::ByteBuffer ComposeCancel(uint64_t id) {
  PayloadHold nothing;
  return Compose(MakeStreamCancel(id), nothing);
}

}  // namespace

bool StreamOutbox::Cancel(const RequestPtr& request) {
  if (std::erase(waiting_, request) > 0) return false;
  std::erase(whole_, request);
  std::erase(in_pieces_, request);
  if (request->pieces.has_begun()) {
    if (!std::exchange(request->is_cancelled, true)) cancelled_.push_back(request->pieces.id());
    return true;
  }
  bytes_in_flight_ -= request->pieces.open_bytes();
  return false;
}

void StreamOutbox::OnAnswered(const RequestPtr& request) {
  // The server waits for the rest of it.
  if (!request->pieces.is_complete()) Cancel(request);
  bytes_in_flight_ -= request->pieces.open_bytes();
}

bool StreamOutbox::OnTerms(const RequestPtr& request, std::optional<RunTerms> terms) {
  if (!request->pieces.awaits_terms()) return false;
  bytes_in_flight_ -= request->pieces.open_bytes();
  bool makes_sense = true;
  if (terms) {
    makes_sense = request->pieces.OnTerms(*std::move(terms));
  } else {
    request->pieces.OnRefusedTerms();
  }
  bytes_in_flight_ += request->pieces.open_bytes();
  return makes_sense;
}

void StreamOutbox::OnUnknownOffer(const RequestPtr& request) {
  makes_offers_ = false;
  request->pieces.Withdraw();
}

void StreamOutbox::Begin() {
  while (!waiting_.empty()) {
    RequestPtr& request = waiting_.front();
    if (!makes_offers_) request->pieces.Withdraw();
    const uint64_t bytes = request->pieces.bytes();
    if (bytes_in_flight_ > 0 && bytes_in_flight_ + bytes > max_bytes_in_flight_) return;
    bytes_in_flight_ += bytes;
    (request->pieces.is_whole() ? whole_ : in_pieces_).push_back(std::move(request));
    waiting_.pop_front();
  }
}

std::optional<grpc::ByteBuffer> StreamOutbox::Next() {
  if (!cancelled_.empty()) {
    const uint64_t id = cancelled_.front();
    cancelled_.pop_front();
    return ComposeCancel(id);
  }
  Begin();
  const auto piece =
      std::find_if(in_pieces_.begin(), in_pieces_.end(),
                   [](const RequestPtr& request) { return request->pieces.can_go_on(); });
  const bool has_piece = piece != in_pieces_.end();
  if (whole_.empty() && !has_piece) return std::nullopt;
  const bool takes_piece = whole_.empty() || (is_turn_of_pieces_ && has_piece);
  is_turn_of_pieces_ = !takes_piece;
  return takes_piece ? NextOf(in_pieces_, piece - in_pieces_.begin()) : NextOf(whole_, 0);
}

grpc::ByteBuffer StreamOutbox::NextOf(std::deque<RequestPtr>& queue, std::ptrdiff_t index) {
  RequestPtr request = std::move(queue[static_cast<size_t>(index)]);
  queue.erase(queue.begin() + index);
  grpc::ByteBuffer message = Compose(request->pieces.Next(), request->hold);
  if (!request->pieces.is_complete()) {
    const size_t place = std::min(queue.size(), kTurns - 1);
    queue.insert(queue.begin() + static_cast<std::ptrdiff_t>(place), std::move(request));
  }
  return message;
}

}  // namespace opserve::client_internal
