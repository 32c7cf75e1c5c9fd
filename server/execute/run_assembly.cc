#include "server/execute/run_assembly.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// Most bytes that a message of a run is to have beside its payloads: an id takes 11. Whatever else
// is in one, nobody has a share of the server for it.
constexpr size_t kMostRunHeaderBytes = 256;

// Whether a message may be kept until its run is computed.
bool IsLean(const ReceivedMessage& message) {
  return message.header_bytes() <=
         kMostRunHeaderBytes + message.places().size() * sizeof(PayloadPlace);
}

}  // namespace

RunAssembly::RunAssembly(RunPlan plan, HostBufferPool& pool)
    : plan_(std::move(plan)),
      pool_(pool),
      awaits_ahead_(!plan_.ahead.empty()),
      lengths_(awaits_ahead_ ? plan_.ahead : plan_.LengthsOf(0)),
      pieces_(lengths_) {}

void RunAssembly::Drop() {
  is_dropped_ = true;
  pieces_.Drop();
}

absl::Status RunAssembly::Add(ReceivedMessage message, uint64_t end,
                              std::vector<ReceivedMessage>& runs) {
  if (is_between_runs() && !is_dropped_ && run_ < end && IsLean(message) &&
      message.payload_bytes() == lengths_) {
    runs.push_back(std::move(message));
    ++run_;
    Expect();
    return absl::OkStatus();
  }
  for (const PayloadPlace& piece : message.places()) {
    // Payloads that were sent ahead may have such pieces in runs.
    if (piece.bytes == 0 && !plan_.ahead.empty()) continue;
    if (run_ >= end && !is_dropped_ && !is_complete()) {
      return absl::OutOfRangeError(absl::StrCat("belongs to run ", run_,
                                                ", although the result of "
                                                "run ",
                                                end - plan_.max_open_runs, " has not been sent"));
    }
    if (absl::Status status = AddPiece(message, piece, runs); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RunAssembly::AddPiece(const ReceivedMessage& message, const PayloadPlace& piece,
                                   std::vector<ReceivedMessage>& runs) {
  absl::Status status;
  if (!has_begun_ && !is_dropped_ && !is_complete()) {
    status = pieces_.Allocate(pool_);
    if (!status.ok()) Drop();
  }
  has_begun_ = true;
  if (is_complete() || !pieces_.Add(message.slices(), piece)) {
    return absl::OutOfRangeError(awaits_ahead_ ? "is more than is missing of a payload sent ahead"
                                               : "is more than is missing of the run");
  }
  if (!pieces_.complete()) return status;
  if (awaits_ahead_) {
    awaits_ahead_ = false;
    if (!is_dropped_) ahead_ = pieces_.Take();
  } else {
    if (!is_dropped_) runs.push_back(pieces_.Take());
    ++run_;
  }
  Expect();
  return status;
}

void RunAssembly::Expect() {
  has_begun_ = false;
  if (is_complete()) return;
  lengths_ = plan_.LengthsOf(run_);
  pieces_ = PayloadAssembly(lengths_);
}

}  // namespace opserve
