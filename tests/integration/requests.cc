#include "tests/integration/requests.h"

#include <utility>

namespace opserve::testing {

void AddInput(v1::ExecuteRequest& request, v1::DataType type, const std::vector<uint32_t>& sizes,
              std::string payload) {
  v1::TensorDesc& input = *request.add_inputs();
  input.set_data_type(type);
  input.mutable_sizes()->Assign(sizes.begin(), sizes.end());
  request.add_payloads(std::move(payload));
}

void AddEnum(v1::ExecuteRequest& request, const std::string& name, const std::string& value) {
  v1::Attribute& attribute = *request.add_attributes();
  attribute.set_name(name);
  attribute.set_enum_name(value);
}

void AddFloat(v1::ExecuteRequest& request, const std::string& name, double value) {
  v1::Attribute& attribute = *request.add_attributes();
  attribute.set_name(name);
  attribute.set_float_value(value);
}

v1::ExecuteRequest RoundRequest(const std::vector<float>& values) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ROUND");
  AddEnum(request, "RoundingMode", "HALVES_TO_NEAREST_EVEN");
  AddInput(request, v1::DATA_TYPE_FLOAT32, {static_cast<uint32_t>(values.size())}, BytesOf(values));
  return request;
}

std::string Pattern(size_t bytes, uint32_t seed) {
  std::string text(bytes, '\0');
  for (char& c : text) {
    seed = seed * 1664525 + 1013904223;
    c = static_cast<char>(seed >> 24);
  }
  return text;
}

v1::ExecuteRequest IfRequest(uint32_t count) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_IF");
  std::string condition = Pattern(count, 1);
  for (char& c : condition) c = static_cast<char>(c & 1);
  AddInput(request, v1::DATA_TYPE_UINT8, {count}, condition);
  AddInput(request, v1::DATA_TYPE_FLOAT32, {count}, Pattern(4ull * count, 2));
  AddInput(request, v1::DATA_TYPE_FLOAT32, {count}, Pattern(4ull * count, 3));
  return request;
}

rpc::Status DetailsOf(const grpc::Status& status) {
  rpc::Status details;
  details.ParseFromString(status.error_details());
  return details;
}

std::string ReasonOf(const grpc::Status& status) {
  return DetailOf<rpc::ErrorInfo>(status).reason();
}

std::vector<std::string> ViolationsOf(const grpc::Status& status) {
  std::vector<std::string> lines;
  const auto bad_request = DetailOf<rpc::BadRequest>(status);
  for (const auto& violation : bad_request.field_violations()) {
    lines.push_back(violation.field() + ": " + violation.description());
  }
  return lines;
}

bool MayRetry(const grpc::Status& status) {
  return DetailOf<rpc::RetryInfo>(status).has_retry_delay();
}

}  // namespace opserve::testing
