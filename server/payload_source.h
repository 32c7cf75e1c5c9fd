// File: server/payload_source.h
//
// Where the payloads of a request are.

#ifndef OPSERVE_SERVER_PAYLOAD_SOURCE_H_
#define OPSERVE_SERVER_PAYLOAD_SOURCE_H_

#include <cstddef>
#include <vector>

#include "proto/wire/host_buffers.h"

namespace opserve {

// Not thread-safe.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;

  // The bytes of every payload, in order; they stay as they are while the source lives. `pool`: for
  // what has to be copied. To be called once. Throws std::bad_alloc.
  virtual std::vector<const std::byte*> Payloads(HostBufferPool& pool) = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PAYLOAD_SOURCE_H_
