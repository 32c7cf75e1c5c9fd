// File: server/service/audited_answer.h
//
// The end of calls of administrators: first a line in the audit log, then the answer.

#ifndef OPSERVE_SERVER_SERVICE_AUDITED_ANSWER_H_
#define OPSERVE_SERVER_SERVICE_AUDITED_ANSWER_H_

#include <optional>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "server/journal/audit_log.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Answers a call as UnaryCall::Finish does, once its line is in `log`; at once where there is no
// log. `entry`: what the call is about; who called and how it ended is filled in. In any thread,
// within UnaryCall::Guard. Throws where there is no memory, and has neither answered nor written
// anything then.
void AnswerAudited(std::optional<AuditLog>& log, UnaryCall& call, AuditEntry entry,
                   const absl::Status& status, const google::protobuf::Message& answer);

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_AUDITED_ANSWER_H_
