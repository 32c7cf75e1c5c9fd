#include "server/service/audited_answer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "server/errors/errors.h"
#include "server/rpc/message_bytes.h"

namespace opserve {
namespace {

// What of a text of a request is in its line. More would not fit into a name of a device or a
// reason that the server takes.
constexpr size_t kMaxAuditedBytes = 256;

}  // namespace

void AnswerAudited(std::optional<AuditLog>& log, UnaryCall& call, AuditEntry entry,
                   const absl::Status& status, const google::protobuf::Message& answer) {
  if (!log) return call.Finish(status, answer);
  entry.client = call.caller().client();
  entry.device.resize(std::min(entry.device.size(), kMaxAuditedBytes));
  entry.note.resize(std::min(entry.note.size(), kMaxAuditedBytes));
  entry.code = status.code();
  entry.reason = ReasonOf(status);
  const grpc::ByteBuffer bytes = status.ok() ? SerializeMessage(answer) : grpc::ByteBuffer();
  RequestRecord* const record = call.record();
  // Before the line is there: from then on the call belongs to the file's thread.
  if (record != nullptr) record->is_audited = true;
  try {
    log->Write(entry, [&call, status, bytes] {
      call.Guard([&] { status.ok() ? call.Finish(bytes) : call.Finish(status); });
    });
  } catch (...) {
    // Nothing was written. The call fails, and its end is told to the audit log like others.
    if (record != nullptr) record->is_audited = false;
    throw;
  }
}

}  // namespace opserve
