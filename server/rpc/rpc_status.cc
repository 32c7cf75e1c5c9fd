#include "server/rpc/rpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The numbers of absl::StatusCode are those of grpc::StatusCode.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      StatusDetails(status));
}

grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContext& context) {
  if (const auto delay = RetryDelayOf(status)) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(delay->count()));
  }
  return ToGrpcStatus(status);
}

}  // namespace opserve
