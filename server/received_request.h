// File: server/received_request.h
//
// A request of Execute as gRPC received it: a parsed header, and payloads that stay where they are
// until a device needs them.

#ifndef OPSERVE_SERVER_RECEIVED_REQUEST_H_
#define OPSERVE_SERVER_RECEIVED_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/host_buffers.h"
#include "server/wire_split.h"

namespace opserve {

// Not thread-safe.
class ReceivedRequest {
 public:
  ReceivedRequest() = default;
  ReceivedRequest(const ReceivedRequest&) = delete;
  ReceivedRequest& operator=(const ReceivedRequest&) = delete;

  // Takes over the slices of `bytes`, which is empty afterwards. INVALID_REQUEST where they are no
  // ExecuteRequest, or one whose header is larger than kMaxRequestHeaderBytes. To be called once.
  absl::Status Read(const grpc::ByteBuffer& bytes);

  // The request without its payloads. After an error: as much as was understood.
  const v1::ExecuteRequest& header() const { return header_; }

  // Lengths of the payloads, in order.
  std::vector<uint64_t> payload_bytes() const;

  // The bytes of every payload, in order; they stay there until ReleasePayloads. A payload that
  // lies in one slice is used in place, at any alignment; any other is gathered into a buffer of
  // `pool`. To be called once. Throws std::bad_alloc.
  std::vector<const std::byte*> Payloads(HostBufferPool& pool);

  // Frees slices and buffers.
  void ReleasePayloads();

 private:
  v1::ExecuteRequest header_;
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSlice> views_;  // of slices_, which never moves: small slices hold their bytes
  std::vector<PayloadPlace> places_;
  std::vector<HostBuffer> gathered_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RECEIVED_REQUEST_H_
