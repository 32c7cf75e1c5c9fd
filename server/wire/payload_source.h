// File: server/wire/payload_source.h
//
// Where the payloads of a request are.

#ifndef OPSERVE_SERVER_WIRE_PAYLOAD_SOURCE_H_
#define OPSERVE_SERVER_WIRE_PAYLOAD_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/tensor_bytes.h"
#include "proto/base/host_buffers.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Not thread-safe.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;

  // The bytes of every payload, in order; they stay where they are while the source lives, and as
  // they are unless somebody writes there, which only this request may. `pool`: for what has to be
  // copied. To be called once. Throws std::bad_alloc.
  virtual std::vector<TensorBytes> Payloads(HostBufferPool& pool) = 0;

  // The first `bytes` bytes of a payload's memory, with what it holds now, to be sent. After
  // Payloads; once per payload.
  virtual OutgoingPayload Send(size_t payload, uint64_t bytes) = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_PAYLOAD_SOURCE_H_
