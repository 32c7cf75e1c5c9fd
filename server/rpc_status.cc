#include "server/rpc_status.h"

#include <string>

#include "opserve/rpc/status.pb.h"
#include "server/errors.h"

namespace opserve {

std::string StatusDetails(const absl::Status& status) {
  rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(std::string(status.message()));
  for (const char* url : {kErrorInfoUrl, kBadRequestUrl, kResourceInfoUrl, kRetryInfoUrl}) {
    if (const auto payload = status.GetPayload(url)) {
      google::protobuf::Any* detail = details.add_details();
      detail->set_type_url(url);
      detail->set_value(std::string(*payload));
    }
  }
  return details.SerializeAsString();
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The numbers of absl::StatusCode are those of grpc::StatusCode.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      StatusDetails(status));
}

}  // namespace opserve
