#include "server/rpc/refused_message.h"

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

// What the client sends is there, or a good part of it, in this time.
constexpr std::chrono::milliseconds kRetryWhenSent{50};

}  // namespace

std::optional<MessageNote> NoteIn(const grpc::ByteBuffer& message) {
  if (message.Length() != kMessageNoteBytes) return std::nullopt;
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return std::nullopt;
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return DecodeMessageNote(bytes);
}

absl::Status RefusedMessageError(absl::string_view method, const MessageNote& note) {
  if (note.others == 0) return RequestTooLargeError(method, note.bytes, note.limit);
  return MakeRetryableError(
      ErrorReason::TOO_MANY_BYTES,
      absl::StrCat("The client is sending messages of ", note.others, " bytes already; ",
                   note.bytes, " more exceed the limit of ", note.limit, "."),
      kRetryWhenSent, {{"limit", absl::StrCat(note.limit)}});
}

}  // namespace opserve
