// File: server/service/catalogue.h
//
// The operator table as ListOperators tells it. Stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_SERVICE_CATALOGUE_H_
#define OPSERVE_SERVER_SERVICE_CATALOGUE_H_

#include "absl/status/status.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve {

// Answers `request`. Fails with OPERATOR_NOT_FOUND or INVALID_REQUEST (no such feature level).
absl::Status ListOperators(const v1::ListOperatorsRequest& request,
                           v1::ListOperatorsResponse& response);

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_CATALOGUE_H_
