// File: server/wire/wire.h
//
// Conversion between the headers of messages and the types of kernels/. Payloads never are in these
// messages: proto/wire/message_split.h finds them in a request, and wire_message.h adds them to a
// response. All functions are stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_WIRE_WIRE_H_
#define OPSERVE_SERVER_WIRE_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "kernels/invocation.h"
#include "kernels/op_table.h"
#include "kernels/validate.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/batch/job.h"

namespace opserve {

// Largest share of a response that is not payload: id, descriptor, and how it was run.
inline constexpr uint64_t kMaxResponseHeaderBytes = 1024;

// What requests of all kinds have beside what is to be computed.
struct RequestEnvelope {
  // What a valid one asks for. `by_default`: where requests run that do not say.
  Priority PriorityClass() const;
  Placement PlacementOr(Placement by_default) const;

  absl::string_view request_id;
  int device = 0;    // number of a v1::DevicePreference, or anything
  int priority = 0;  // number of a v1::Priority, or anything
  bool verify = false;
  // Whether the result has to fit into one message.
  bool answers_in_one_message = true;
  // Whether tensors are held whole, so that the server's limit for their bytes counts.
  bool holds_tensors = true;
  // The id of a device lease, or anything; empty: none.
  absl::string_view device_lease = {};
};

// A request without its payload bytes. The views point into the message.
struct RequestHeader : RequestEnvelope {
  OperatorRequest call;
};

// Parts of requests as kernels/ sees them; the views point into the messages.
TensorDescView ViewOf(const v1::TensorDesc& desc);
AttributeView ViewOf(const v1::Attribute& attribute);

// The header of `request`, which must outlive it, with payloads of these lengths. Payloads in
// `request` itself are not looked at.
RequestHeader HeaderOf(const v1::ExecuteRequest& request, std::span<const uint64_t> payload_bytes);

// The part of it that describes nothing to compute.
RequestEnvelope EnvelopeOf(const v1::ExecuteRequest& request);

// The payloads of the operator's inputs, in its order, out of those of the request; nothing where
// an input is absent. `invocation` must come from the header of this very request.
std::array<TensorBytes, kMaxInputs> InputsOf(std::span<const TensorBytes> payloads,
                                             const Invocation& invocation);

// Parts of responses.
void WriteDesc(const TensorDesc& desc, v1::TensorDesc& out);
void WriteExecution(const RunRecord& record, v1::ExecutionInfo& execution);

// Fills in all of `response` but the payload.
void WriteResponseHeader(const v1::ExecuteRequest& request, const Invocation& invocation,
                         const RunRecord& record, v1::ExecuteResponse& response);

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_WIRE_H_
