// File: server/execute/unary_execute.h
//
// Calls of Execute and of ExecuteSequence: the unary replies to their jobs.

#ifndef OPSERVE_SERVER_EXECUTE_UNARY_EXECUTE_H_
#define OPSERVE_SERVER_EXECUTE_UNARY_EXECUTE_H_

#include "server/execute/request_job.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Reads, validates, admits and queues the request, or answers it at once; never blocks. `parts`
// must outlive the call.
void StartExecute(const ExecuteParts& parts, UnaryCall& call);
void StartSequence(const ExecuteParts& parts, UnaryCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_UNARY_EXECUTE_H_
