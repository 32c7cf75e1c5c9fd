// File: server/kserve/infer_calls.h
//
// Calls of ModelInfer and ModelStreamInfer.

#ifndef OPSERVE_SERVER_KSERVE_INFER_CALLS_H_
#define OPSERVE_SERVER_KSERVE_INFER_CALLS_H_

#include <memory>

#include "server/execute/request_job.h"
#include "server/kserve/system_memory.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Computes the request, or answers it at once; never blocks. `parts` and `memory` must outlive the
// call.
void StartInfer(const ExecuteParts& parts, const SystemMemory& memory, UnaryCall& call);

// The same for the requests of a stream, one after the other: the next one is read when the answer
// to the one before is on its way.
std::unique_ptr<StreamHandler> StartInferStream(const ExecuteParts& parts,
                                                const SystemMemory& memory, StreamCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_INFER_CALLS_H_
