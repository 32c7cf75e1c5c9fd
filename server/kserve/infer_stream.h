// File: server/kserve/infer_stream.h
//
// ModelStreamInfer: many requests over one stream, answered in the order in which they came.

#ifndef OPSERVE_SERVER_KSERVE_INFER_STREAM_H_
#define OPSERVE_SERVER_KSERVE_INFER_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/execute/request_job.h"
#include "server/kserve/system_memory.h"
#include "server/rpc/stream_call.h"

namespace opserve {

// Requests of a stream that are under way at most, answers that wait to be sent included; and bytes
// that they hold from which on no more are read, where ExecuteOptions::max_stream_bytes is not
// less. Clients of the protocol know no other limit than that a stream takes their next message, so
// these are far below what an identity may have.
inline constexpr size_t kMaxInferStreamRequests = 16;
inline constexpr uint64_t kMaxInferStreamBytes = uint64_t{64} << 20;

// What works on a stream. `parts` and `memory` must outlive it.
std::unique_ptr<StreamHandler> StartInferStream(const ExecuteParts& parts,
                                                const SystemMemory& memory, StreamCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_INFER_STREAM_H_
