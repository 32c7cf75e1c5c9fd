// File: server/wire_response.h
//
// The bytes of an ExecuteResponse whose payload is sent from where it was computed.

#ifndef OPSERVE_SERVER_WIRE_RESPONSE_H_
#define OPSERVE_SERVER_WIRE_RESPONSE_H_

#include <cstdint>
#include <memory>

#include "grpcpp/support/byte_buffer.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/host_buffers.h"

namespace opserve {

// The bytes that the generated code would make of `header`, which has no payload, with the first
// `payload_bytes` bytes of `payload` as its payload. They are not copied: the result owns them, and
// gives the buffer back once gRPC has sent it. Stateless and safe to use from any thread.
grpc::ByteBuffer ComposeResponse(const v1::ExecuteResponse& header,
                                 std::unique_ptr<HostBuffer> payload, uint64_t payload_bytes);

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_RESPONSE_H_
