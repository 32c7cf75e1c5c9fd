// File: server/wire/sequence_wire.h
//
// Conversion between the headers of messages of ExecuteSequence and the types of kernels/. As in
// server/wire/wire.h, payloads never are in these messages. Stateless and safe to use from any
// thread.

#ifndef OPSERVE_SERVER_WIRE_SEQUENCE_WIRE_H_
#define OPSERVE_SERVER_WIRE_SEQUENCE_WIRE_H_

#include <cstdint>
#include <span>

#include "kernels/sequence.h"
#include "kernels/validate_sequence.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/batch/job.h"
#include "server/wire/wire.h"

namespace opserve {

// A request without its payload bytes. The views point into the message.
struct SequenceHeader : RequestEnvelope {
  SequenceRequest call;
};

// The header of `request`, which must outlive it, with payloads of these lengths.
SequenceHeader HeaderOf(const v1::ExecuteSequenceRequest& request,
                        std::span<const uint64_t> payload_bytes);

// The part of it that describes nothing to compute.
RequestEnvelope EnvelopeOf(const v1::ExecuteSequenceRequest& request);

// Largest share of a response with `outputs` outputs that is not payload: id, descriptors, lengths,
// and how it was run.
constexpr uint64_t MaxSequenceResponseHeaderBytes(uint64_t outputs) {
  return kMaxResponseHeaderBytes + outputs * 128;
}

// Fills in all of `response` but the payloads.
void WriteResponseHeader(const v1::ExecuteSequenceRequest& request,
                         const SequenceInvocation& sequence, const RunRecord& record,
                         v1::ExecuteSequenceResponse& response);

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_SEQUENCE_WIRE_H_
