// File: client/wire/outgoing_pieces.h
//
// A request of a stream, cut into messages.

#ifndef OPSERVE_CLIENT_WIRE_OUTGOING_PIECES_H_
#define OPSERVE_CLIENT_WIRE_OUTGOING_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/wire/message.h"

namespace opserve::client_internal {

// What the server says about an offer; see PipelineTerms of the wire contract.
struct RunTerms {
  // Bytes of each payload in a run; 0: it is sent ahead of the runs.
  std::vector<uint64_t> run_bytes;
  uint64_t max_open_runs = 0;
};

// What the first message of a request of a stream has of it. `request` as for Execute, or
// ExecuteSequence.
OutgoingMessage StreamedCall(OutgoingMessage request);
OutgoingMessage StreamedSequence(OutgoingMessage request);

// Not thread-safe.
class OutgoingPieces {
 public:
  // `request` is one of the above, to be sent under `id`: whole where its payloads have at most
  // `piece_bytes` bytes, which is positive and counts as 1 GiB at most, else in messages with so
  // many bytes of payloads; with more than `offered_from` bytes, and all inputs in the message, in
  // runs if the server agrees.
  OutgoingPieces(uint64_t id, OutgoingMessage request, uint64_t piece_bytes,
                 uint64_t offered_from = UINT64_MAX);

  uint64_t id() const { return id_; }
  // The size of all payloads.
  uint64_t bytes() const { return bytes_; }
  // Whether it is one message.
  bool is_whole() const { return is_whole_; }
  bool has_begun() const { return has_begun_; }
  bool is_complete() const;
  // Whether there is a message to send now: where not, the request is complete, or the server has
  // to say something first.
  bool can_go_on() const;
  // Bytes of payloads that are sent and not answered at most.
  uint64_t open_bytes() const;

  // The next message. Only where it can go on.
  OutgoingMessage Next();

  // Whether an offer has been made that is not answered.
  bool awaits_terms() const { return mode_ == Mode::kOffer && has_begun_; }
  // The server agrees to the offer. False where its terms make no sense.
  bool OnTerms(RunTerms terms);
  // It does not, and waits for the payloads one after the other.
  void OnRefusedTerms() { mode_ = Mode::kInOrder; }
  // A run has been answered. False where none is open.
  bool OnRunAnswered();
  // Makes no offer; where one was made that the server did not understand, the request begins anew.
  void Withdraw();

 private:
  enum class Mode {
    kInOrder,  // payloads one after the other
    kOffer,    // the server is to say how
    kInRuns,
  };

  // The next of those that come one after the other: all, or what is sent ahead.
  OutgoingMessage NextInOrder();
  OutgoingMessage NextRun();
  // The fields of the next message but its payloads.
  std::string Header() const;
  // Passes over payloads that are sent, or come in runs.
  void SkipComplete();
  bool IsInRuns(size_t payload) const {
    return mode_ == Mode::kInRuns && terms_.run_bytes[payload] > 0;
  }
  // Whether payloads are left that come one after the other.
  bool has_more_in_order() const { return next_ < request_.payloads.size(); }

  const uint64_t id_;
  const OutgoingMessage request_;
  const uint64_t piece_bytes_;
  uint64_t bytes_ = 0;
  bool is_whole_ = false;
  bool has_begun_ = false;
  Mode mode_ = Mode::kInOrder;
  RunTerms terms_;
  uint64_t run_count_ = 0;
  uint64_t sent_runs_ = 0;
  uint64_t answered_runs_ = 0;
  // What is to be sent next of what comes one after the other: the number of a payload, and how
  // much of it is sent.
  size_t next_ = 0;
  size_t sent_ = 0;
};

// The message that gives a request up.
OutgoingMessage MakeStreamCancel(uint64_t id);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_OUTGOING_PIECES_H_
