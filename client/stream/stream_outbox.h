// File: client/stream/stream_outbox.h
//
// What a stream still has to send, and in which order.

#ifndef OPSERVE_CLIENT_STREAM_STREAM_OUTBOX_H_
#define OPSERVE_CLIENT_STREAM_STREAM_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "client/wire/outgoing_pieces.h"
#include "client/wire/payload_hold.h"

namespace opserve::client_internal {

// A request, and what gRPC has of its payloads.
struct OutgoingRequest {
  OutgoingRequest(uint64_t id, OutgoingMessage request, uint64_t piece_bytes,
                  uint64_t offered_from = UINT64_MAX)
      : pieces(id, std::move(request), piece_bytes, offered_from) {}

  OutgoingPieces pieces;
  PayloadHold hold;
  bool is_cancelled = false;  // the server has been told
};

// Requests begin in their order, as long as those that have begun and are not answered have no more
// than `max_bytes_in_flight` bytes of payloads; one that alone has more begins when no other has
// any. Of one that is sent in runs only those count that may be open. Of those that have begun,
// whole ones and ones in pieces alternate, and of these the two that came first and need not wait
// for the server: more would only make all of them late, and fill the server with incomplete ones.
//
// Not thread-safe.
class StreamOutbox {
 public:
  using RequestPtr = std::shared_ptr<OutgoingRequest>;

  explicit StreamOutbox(uint64_t max_bytes_in_flight) : max_bytes_in_flight_(max_bytes_in_flight) {}

  void Push(RequestPtr request) { waiting_.push_back(std::move(request)); }

  // Gives a request up that has not been answered: no more of it is sent. Returns whether the
  // server knows it, which is told then, and whose answer still comes.
  bool Cancel(const RequestPtr& request);

  // A request that the server knows has been answered. No more of it is sent.
  void OnAnswered(const RequestPtr& request);

  // The server has answered the offer of a request; without terms it declines. False where that
  // makes no sense.
  bool OnTerms(const RequestPtr& request, std::optional<RunTerms> terms);
  // It has answered one run of a request. False where none is open.
  bool OnRunAnswered(const RequestPtr& request) { return request->pieces.OnRunAnswered(); }
  // The server has refused a request because it does not know offers: the request begins anew, and
  // no more offers are made.
  void OnUnknownOffer(const RequestPtr& request);

  // The next message; nullopt where there is none, or it has to wait for answers.
  std::optional<grpc::ByteBuffer> Next();

 private:
  void Begin();
  // The next message of the request in `queue` at `index`.
  grpc::ByteBuffer NextOf(std::deque<RequestPtr>& queue, std::ptrdiff_t index);

  const uint64_t max_bytes_in_flight_;
  uint64_t bytes_in_flight_ = 0;
  std::deque<RequestPtr> waiting_;
  // Have begun, and are not sent completely.
  std::deque<RequestPtr> whole_;
  std::deque<RequestPtr> in_pieces_;
  std::deque<uint64_t> cancelled_;  // the server is to be told
  bool is_turn_of_pieces_ = false;
  bool makes_offers_ = true;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_STREAM_STREAM_OUTBOX_H_
