// File: client/wire.h
//
// Between the client's types and the messages of the wire contract; the only place that knows how
// the bytes of tensors travel. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_WIRE_H_
#define OPSERVE_CLIENT_WIRE_H_

#include "absl/status/statusor.h"
#include "opserve/client.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {

// The request for `call`, with a copy of its tensors' bytes.
v1::ExecuteRequest EncodeCall(const OperatorCall& call);

// The output of `response`, whose payload is moved out. DATA_LOSS unless the descriptor is valid
// and the payload has exactly the bytes that it needs.
absl::StatusOr<Tensor> DecodeOutput(v1::ExecuteResponse& response);

ExecutionInfo DecodeExecution(const v1::ExecutionInfo& info);
Catalogue DecodeCatalogue(const v1::ListOperatorsResponse& response);
std::vector<SelfTestReport> DecodeSelfTests(const v1::SelfTestDevicesResponse& response);
ServerInfo DecodeServerInfo(const v1::GetServerInfoResponse& response);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_H_
