// File: client/wire/wire.h
//
// Between the client's types and the messages of the wire contract. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_CLIENT_WIRE_WIRE_H_
#define OPSERVE_CLIENT_WIRE_WIRE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/wire/message.h"
#include "opserve/client.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {

// The request for `call`, with a copy of its tensors' bytes: for files.
v1::ExecuteRequest EncodeCall(const OperatorCall& call);

// All that decides the layout of the call's result, and which devices may compute it, as bytes:
// calls with the same have results of the same layout.
std::string ResultKey(const OperatorCall& call);

// The request for `call` to be sent: its payloads are the memory behind the inputs. The result goes
// to `output`.
OutgoingMessage MakeRequest(const OperatorCall& call,
                            const std::optional<TensorPlace>& output = {});

// The same for inputs that come through `ring`, whose memory is `memory`.
OutgoingMessage MakeRingRequest(const OperatorCall& call, v1::PayloadRing ring,
                                const RegionRange& memory, const RegionRange& output);

// Parses the header of a response. DATA_LOSS unless it is such a message; what was understood of it
// is there all the same.
absl::Status Parse(const ResponseMessage& received, google::protobuf::Message& message);

// An output that is in a response.
struct ReceivedOutput {
  TensorSpec spec;
  uint64_t bytes = 0;  // what `spec` needs
  size_t payload = 0;  // number of the payload that holds them
};

// The layout of an output. DATA_LOSS unless it is a valid one.
absl::StatusOr<TensorSpec> DecodeOutputSpec(const v1::TensorDesc& output);

// The layout of an output that came with `received` bytes. DATA_LOSS unless the descriptor is valid
// and needs exactly so many.
absl::StatusOr<TensorSpec> DecodeOutputSpec(const v1::TensorDesc& output, uint64_t received);

// The output that `desc` describes and payload number `payload` holds. DATA_LOSS as above.
absl::StatusOr<ReceivedOutput> FindOutput(const v1::TensorDesc& desc,
                                          const ResponseMessage& response, size_t payload);

// Parses the header of a response and finds the output in it. DATA_LOSS as above.
absl::StatusOr<ReceivedOutput> DecodeOutput(const ResponseMessage& response,
                                            v1::ExecuteResponse& header);

// The same where the output went to a place of its own: DATA_LOSS also where there is a payload.
absl::StatusOr<TensorSpec> DecodePlacedOutput(const ResponseMessage& response,
                                              v1::ExecuteResponse& header);

ExecutionInfo DecodeExecution(const v1::ExecutionInfo& info);
// The same, added to what the client knows itself.
void AddExecution(const v1::ExecutionInfo& execution, ExecutionInfo& info);
Catalogue DecodeCatalogue(const v1::ListOperatorsResponse& response);
std::vector<SelfTestReport> DecodeSelfTests(const v1::SelfTestDevicesResponse& response);
ServerInfo DecodeServerInfo(const v1::GetServerInfoResponse& response);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_WIRE_H_
