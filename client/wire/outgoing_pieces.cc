#include "client/wire/outgoing_pieces.h"

#include <algorithm>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

static_assert(kPayloadField == v1::ExecuteStreamRequest::kPayloadsFieldNumber &&
              kPayloadField == v1::ExecuteStreamResponse::kPayloadFieldNumber);

// gRPC writes the length of a message in 32 bits.
constexpr uint64_t kMostPieceBytes = uint64_t{1} << 30;

// Appends a field whose message is serialized already.
void AppendField(int number, const std::string& value, std::string& header) {
  const uint32_t tag = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  uint8_t prefix[15];  // a tag and a length
  uint8_t* end = CodedOutputStream::WriteTagToArray(tag, prefix);
  end = CodedOutputStream::WriteVarint64ToArray(value.size(), end);
  header.append(prefix, end);
  header += value;
}

}  // namespace

OutgoingMessage StreamedCall(OutgoingMessage request) {
  std::string header;
  AppendField(v1::ExecuteStreamRequest::kRequestFieldNumber, request.header, header);
  request.header = std::move(header);
  return request;
}

OutgoingMessage StreamedSequence(OutgoingMessage request) {
  std::string header;
  AppendField(v1::ExecuteStreamRequest::kRequestFieldNumber, "", header);
  AppendField(v1::ExecuteStreamRequest::kSequenceFieldNumber, request.header, header);
  request.header = std::move(header);
  return request;
}

OutgoingPieces::OutgoingPieces(uint64_t id, OutgoingMessage request, uint64_t piece_bytes,
                               uint64_t offered_from)
    : id_(id), request_(std::move(request)), piece_bytes_(std::min(piece_bytes, kMostPieceBytes)) {
  for (const auto& payload : request_.payloads) bytes_ += payload.size();
  is_whole_ = bytes_ <= piece_bytes_;
  // The server would put others together.
  if (!is_whole_ && bytes_ > offered_from && request_.places.empty()) mode_ = Mode::kOffer;
}

bool OutgoingPieces::is_complete() const {
  if (!has_begun_ || mode_ == Mode::kOffer) return false;
  return mode_ == Mode::kInRuns ? sent_runs_ == run_count_ : !has_more_in_order();
}

bool OutgoingPieces::can_go_on() const {
  if (!has_begun_) return true;
  if (is_complete() || mode_ == Mode::kOffer) return false;
  return has_more_in_order() || sent_runs_ - answered_runs_ < terms_.max_open_runs;
}

uint64_t OutgoingPieces::open_bytes() const {
  if (mode_ != Mode::kInRuns) return bytes_;
  uint64_t run = 0;
  uint64_t ahead = 0;
  for (size_t i = 0; i < terms_.run_bytes.size(); ++i) {
    run += terms_.run_bytes[i];
    if (!IsInRuns(i)) ahead += request_.payloads[i].size();
  }
  return ahead + std::min(run_count_, terms_.max_open_runs) * run;
}

bool OutgoingPieces::OnTerms(RunTerms terms) {
  if (!awaits_terms() || terms.max_open_runs == 0) return false;
  if (terms.run_bytes.size() != request_.payloads.size()) return false;
  run_count_ = 0;
  for (size_t i = 0; i < terms.run_bytes.size(); ++i) {
    const uint64_t run = terms.run_bytes[i];
    const uint64_t bytes = request_.payloads[i].size();
    if (run == 0) continue;
    if (run > bytes) return false;
    const uint64_t count = bytes / run + (bytes % run == 0 ? 0 : 1);
    if (run_count_ != 0 && count != run_count_) return false;
    run_count_ = count;
  }
  if (run_count_ == 0) return false;
  terms_ = std::move(terms);
  mode_ = Mode::kInRuns;
  SkipComplete();
  return true;
}

bool OutgoingPieces::OnRunAnswered() {
  if (mode_ != Mode::kInRuns || answered_runs_ == sent_runs_) return false;
  ++answered_runs_;
  return true;
}

void OutgoingPieces::Withdraw() {
  if (mode_ != Mode::kOffer) return;
  mode_ = Mode::kInOrder;
  has_begun_ = false;
}

std::string OutgoingPieces::Header() const {
  v1::ExecuteStreamRequest message;
  message.set_id(id_);
  if (has_begun_) return message.SerializeAsString();
  if (mode_ == Mode::kOffer) {
    v1::PipelineOffer& offer = *message.mutable_pipeline();
    for (const auto& payload : request_.payloads) offer.add_payload_bytes(payload.size());
    offer.set_run_bytes(piece_bytes_);
    offer.set_sends_ahead(true);
  } else if (!is_whole_) {
    for (const auto& payload : request_.payloads) message.add_payload_bytes(payload.size());
  }
  return message.SerializeAsString() + request_.header;
}

OutgoingMessage OutgoingPieces::Next() {
  return mode_ == Mode::kInRuns && !has_more_in_order() ? NextRun() : NextInOrder();
}

OutgoingMessage OutgoingPieces::NextRun() {
  OutgoingMessage message = {Header()};
  for (size_t i = 0; i < request_.payloads.size(); ++i) {
    const auto rest = request_.payloads[i].subspan(sent_runs_ * terms_.run_bytes[i]);
    message.payloads.push_back(rest.first(std::min<uint64_t>(rest.size(), terms_.run_bytes[i])));
  }
  ++sent_runs_;
  return message;
}

OutgoingMessage OutgoingPieces::NextInOrder() {
  OutgoingMessage message = {Header()};
  has_begun_ = true;
  if (mode_ == Mode::kOffer) return message;
  if (is_whole_) {
    message.payloads = request_.payloads;
    next_ = request_.payloads.size();
    return message;
  }
  SkipComplete();
  for (uint64_t room = piece_bytes_; room > 0 && has_more_in_order(); SkipComplete()) {
    const auto rest = request_.payloads[next_].subspan(sent_);
    const auto piece = rest.first(std::min<uint64_t>(rest.size(), room));
    message.payloads.push_back(piece);
    room -= piece.size();
    sent_ += piece.size();
  }
  return message;
}

void OutgoingPieces::SkipComplete() {
  while (has_more_in_order() && (IsInRuns(next_) || sent_ == request_.payloads[next_].size())) {
    ++next_;
    sent_ = 0;
  }
}

OutgoingMessage MakeStreamCancel(uint64_t id) {
  v1::ExecuteStreamRequest message;
  message.set_id(id);
  message.set_cancel(true);
  return {message.SerializeAsString()};
}

}  // namespace opserve::client_internal
