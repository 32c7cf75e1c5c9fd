// File: server/execute/unary_execute.h
//
// The methods Execute and ExecuteSequence: unary calls as the replies to their jobs.

#ifndef OPSERVE_SERVER_EXECUTE_UNARY_EXECUTE_H_
#define OPSERVE_SERVER_EXECUTE_UNARY_EXECUTE_H_

#include "server/execute/request_job.h"
#include "server/rpc/rpc_service.h"

namespace opserve {

// Adds both methods, with these limits, to `rpc`. They read, validate, admit and queue the request,
// or answer it at once; they never block. `parts` must outlive the calls.
void AddUnaryExecute(RpcService& rpc, const MethodLimits& limits, const ExecuteParts& parts);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_UNARY_EXECUTE_H_
