// File: server/execute/execute_call.h
//
// A call of Execute: the unary reply to its job.

#ifndef OPSERVE_SERVER_EXECUTE_EXECUTE_CALL_H_
#define OPSERVE_SERVER_EXECUTE_EXECUTE_CALL_H_

#include "grpcpp/support/byte_buffer.h"
#include "server/execute/execute_job.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Reads, validates, admits and queues the request, or answers it at once; never blocks. `parts`
// must outlive the call.
void StartExecute(const ExecuteParts& parts, UnaryCall& call);

// The same for a job of any other reply: takes over the slices of `request`.
void StartJob(ExecuteJob& job, grpc::ByteBuffer& request, const JobOrigin& origin);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_EXECUTE_CALL_H_
