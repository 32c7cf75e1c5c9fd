// File: server/execute/sequence_call.h
//
// A call of ExecuteSequence: the unary reply to its job.

#ifndef OPSERVE_SERVER_EXECUTE_SEQUENCE_CALL_H_
#define OPSERVE_SERVER_EXECUTE_SEQUENCE_CALL_H_

#include "server/execute/execute_job.h"
#include "server/rpc/unary_call.h"
#include "server/validate/sequence_validator.h"

namespace opserve {

// Reads, validates, admits and queues the request, or answers it at once; never blocks. `parts` and
// `validator` must outlive the call.
void StartSequence(const ExecuteParts& parts, const SequenceValidator& validator, UnaryCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_SEQUENCE_CALL_H_
