// File: client/wire/outgoing_pieces.h
//
// A request of a stream, cut into messages.

#ifndef OPSERVE_CLIENT_WIRE_OUTGOING_PIECES_H_
#define OPSERVE_CLIENT_WIRE_OUTGOING_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "client/wire/message.h"

namespace opserve::client_internal {

// Not thread-safe.
class OutgoingPieces {
 public:
  // `request` as for Execute, to be sent under `id`: whole where its payloads have at most
  // `piece_bytes` bytes, which is positive, else in messages with so many bytes of payloads.
  OutgoingPieces(uint64_t id, OutgoingMessage request, uint64_t piece_bytes);

  uint64_t id() const { return id_; }
  // Of all payloads.
  uint64_t bytes() const { return bytes_; }
  // Whether it is one message.
  bool is_whole() const { return is_whole_; }
  bool has_begun() const { return has_begun_; }
  bool is_complete() const { return has_begun_ && next_ == request_.payloads.size(); }

  // The next message. Not once it is complete.
  OutgoingMessage Next();

 private:
  // The fields of the next message but its payloads.
  std::string Header() const;
  void SkipComplete();

  const uint64_t id_;
  const OutgoingMessage request_;
  const uint64_t piece_bytes_;
  uint64_t bytes_ = 0;
  bool is_whole_ = false;
  bool has_begun_ = false;
  // What is to be sent next: the number of a payload, and how much of it is sent.
  size_t next_ = 0;
  size_t sent_ = 0;
};

// The message that gives a request up.
OutgoingMessage MakeStreamCancel(uint64_t id);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_OUTGOING_PIECES_H_
