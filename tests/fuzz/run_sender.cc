#include "tests/fuzz/run_sender.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "opserve/v1/operator_service.pb.h"
#include "tests/fuzz/require.h"

namespace opserve::fuzz {
namespace {

grpc::Slice SliceOf(std::string_view bytes) {
  void* const memory = std::malloc(bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  return grpc::Slice(memory, bytes.size(), std::free);
}

std::string TextOf(const TensorBytes& bytes, size_t count) {
  std::string text(count, '\0');
  bytes.CopyTo(reinterpret_cast<std::byte*>(text.data()), count);
  return text;
}

std::string TextOf(const OutgoingPayload& payload) {
  if (payload.data != nullptr) {
    return std::string(reinterpret_cast<const char*>(payload.data), payload.bytes);
  }
  std::string text;
  for (const grpc::Slice& slice : payload.slices) text.append(slice.begin(), slice.end());
  return text;
}

}  // namespace

SentPieces RunSender::Send(const RunMessage& message, uint64_t end) {
  SentPieces sent;
  for (const RunPiece& piece : message.pieces()) {
    const uint64_t most = piece.is_exact() ? budget_ : std::min(budget_, model_.missing());
    sent.pieces.push_back(NextBytes(std::min<uint64_t>(piece.bytes(), most)));
    if (sent.is_refused || (sent.pieces.back().empty() && model_.has_ahead())) continue;
    const bool may_come = model_.is_complete() || model_.run() < end;
    sent.is_refused = !may_come || !model_.Take(sent.pieces.back(), sent.runs);
  }
  return sent;
}

std::string RunSender::NextBytes(uint64_t count) {
  budget_ -= count;
  std::string bytes(count, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(next_ * 151 + next_ / 256 * 7 + next_ / 65536 * 3);
    ++next_;
  }
  return bytes;
}

ReceivedMessage Receive(const std::vector<std::string>& pieces, const RunMessage& message) {
  v1::ExecuteStreamRequest request;
  for (const std::string& piece : pieces) request.add_payloads(piece);
  const std::string bytes = request.SerializeAsString();
  std::vector<size_t> ends = {bytes.size()};
  for (const uint32_t cut : message.cuts()) ends.push_back(cut % (bytes.size() + 1));
  std::sort(ends.begin(), ends.end());
  std::vector<grpc::Slice> slices;
  size_t begin = 0;
  for (const size_t end : ends) {
    slices.push_back(SliceOf(std::string_view(bytes).substr(begin, end - begin)));
    begin = end;
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  slices.clear();
  ReceivedMessage received;
  v1::ExecuteStreamRequest header;
  Require(received.Read(buffer, header).ok());
  return received;
}

void CheckRun(ReceivedMessage run, const RunContents& expected) {
  HostBufferPool pool(0);
  const std::vector<TensorBytes> payloads = run.Payloads(pool);
  Require(payloads.size() == expected.size());
  for (size_t i = 0; i < payloads.size(); ++i) {
    const std::string& part = expected[i];
    if (part.empty()) continue;
    Require(TextOf(payloads[i], part.size()) == part);
    const OutgoingPayload sent = run.Send(i, part.size());
    Require(sent.bytes == part.size() && TextOf(sent) == part);
  }
}

}  // namespace opserve::fuzz
