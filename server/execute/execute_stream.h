// File: server/execute/execute_stream.h
//
// ExecuteStream: many requests over one stream, answered in the order in which they are done.

#ifndef OPSERVE_SERVER_EXECUTE_EXECUTE_STREAM_H_
#define OPSERVE_SERVER_EXECUTE_EXECUTE_STREAM_H_

#include <memory>

#include "server/execute/request_job.h"
#include "server/rpc/rpc_service.h"
#include "server/rpc/stream_call.h"

namespace opserve {

// Requests of a stream that are under way at most, answers that wait to be sent included. A stream
// that has as many is not read until one of them is gone.
inline constexpr size_t kMaxStreamRequests = 256;

// What works on a stream. `parts` must outlive it.
std::unique_ptr<StreamHandler> StartExecuteStream(const ExecuteParts& parts, StreamCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_EXECUTE_STREAM_H_
