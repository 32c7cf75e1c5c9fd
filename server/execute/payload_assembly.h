// File: server/execute/payload_assembly.h
//
// Payloads of a request that come in pieces, over several messages of a stream.

#ifndef OPSERVE_SERVER_EXECUTE_PAYLOAD_ASSEMBLY_H_
#define OPSERVE_SERVER_EXECUTE_PAYLOAD_ASSEMBLY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "proto/base/host_buffers.h"
#include "proto/wire/message_split.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Not thread-safe.
class PayloadAssembly {
 public:
  // Expects payloads of these lengths, one after the other. Drops their bytes until Allocate.
  explicit PayloadAssembly(std::span<const uint64_t> lengths);

  // Makes room for the payloads, whose bytes are kept from now on. To be called before the first
  // piece, or not at all. OUT_OF_MEMORY.
  absl::Status Allocate(HostBufferPool& pool);

  // Gives the room up: what still comes is dropped.
  void Drop();

  // Takes the next piece. False where it goes beyond the payload that it continues, or where all
  // are complete: nothing is taken then.
  bool Add(std::span<const ByteSlice> slices, const PayloadPlace& piece);

  bool complete() const { return next_ == parts_.size(); }

  // The payloads, as if they had come in one message. After Allocate, once all are complete; at
  // most once.
  ReceivedMessage Take();

 private:
  struct Part {
    uint64_t bytes = 0;
    uint64_t filled = 0;
    HostBuffer buffer;
  };

  // Payloads that nothing is missing of need no piece.
  void SkipComplete();

  std::vector<Part> parts_;
  size_t next_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_PAYLOAD_ASSEMBLY_H_
