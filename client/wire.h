// File: client/wire.h
//
// Between the client's types and the messages of the wire contract. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_CLIENT_WIRE_H_
#define OPSERVE_CLIENT_WIRE_H_

#include "absl/status/statusor.h"
#include "client/message.h"
#include "opserve/client.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {

// The request for `call`, with a copy of its tensors' bytes: for files.
v1::ExecuteRequest EncodeCall(const OperatorCall& call);

// The same to be sent: its payloads are the memory behind the inputs.
OutgoingMessage MakeRequest(const OperatorCall& call);

// The output of a response.
struct OutputPlace {
  TensorSpec spec;
  uint64_t bytes = 0;  // what `spec` needs
  size_t payload = 0;  // number of the payload that holds them
};

// The header of a response, and where the output is in it. DATA_LOSS unless the header is one, the
// descriptor is valid and the payload has exactly the bytes that it needs; what was understood of
// the header is there all the same.
absl::StatusOr<OutputPlace> DecodeOutput(const ReceivedMessage& response,
                                         v1::ExecuteResponse& header);

// The layout of an output that came with `received` bytes. DATA_LOSS unless the descriptor is valid
// and needs exactly so many.
absl::StatusOr<TensorSpec> DecodeOutputSpec(const v1::TensorDesc& output, uint64_t received);

ExecutionInfo DecodeExecution(const v1::ExecutionInfo& info);
Catalogue DecodeCatalogue(const v1::ListOperatorsResponse& response);
std::vector<SelfTestReport> DecodeSelfTests(const v1::SelfTestDevicesResponse& response);
ServerInfo DecodeServerInfo(const v1::GetServerInfoResponse& response);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_H_
