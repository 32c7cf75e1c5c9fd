// File: client/wire/result_buffer.h
//
// Memory for results. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_WIRE_RESULT_BUFFER_H_
#define OPSERVE_CLIENT_WIRE_RESULT_BUFFER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/base/host_buffers.h"

namespace opserve::client_internal {

// A buffer of `pool` for a result of `bytes` bytes. RESOURCE_EXHAUSTED where there is no memory: a
// thread of gRPC would swallow the exception, and the caller never hear.
absl::StatusOr<std::shared_ptr<const HostBuffer>> TakeResultBuffer(HostBufferPool& pool,
                                                                   uint64_t bytes);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_RESULT_BUFFER_H_
