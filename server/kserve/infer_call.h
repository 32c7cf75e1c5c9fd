// File: server/kserve/infer_call.h
//
// A call of ModelInfer.

#ifndef OPSERVE_SERVER_KSERVE_INFER_CALL_H_
#define OPSERVE_SERVER_KSERVE_INFER_CALL_H_

#include "server/execute/request_job.h"
#include "server/kserve/system_memory.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// Computes the request, or answers it at once; never blocks. `parts` and `memory` must outlive the
// call.
void StartInfer(const ExecuteParts& parts, const SystemMemory& memory, UnaryCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_INFER_CALL_H_
