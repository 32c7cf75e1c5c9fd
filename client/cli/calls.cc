#include "client/cli/calls.h"

#include "client/api/npy.h"

namespace opserve::cli {
namespace {

// Entry `i` of a list that may be shorter than the inputs; empty where there is none.
Dimensions EntryOf(const std::vector<Dimensions>& list, size_t i) {
  return i < list.size() ? list[i] : Dimensions();
}

}  // namespace

absl::StatusOr<ClientOptions> MakeClientOptions(const ServerArguments& arguments) {
  ClientOptions options;
  options.connect_timeout = std::min(options.connect_timeout, arguments.timeout);
  options.default_timeout = arguments.timeout;
  options.bearer_token = arguments.token;
  options.client_name = arguments.client_name;
  if (arguments.tls || !arguments.tls_ca_file.empty()) options.tls.emplace();
  if (!arguments.tls_ca_file.empty()) {
    absl::StatusOr<std::string> certificates = ReadFile(arguments.tls_ca_file);
    if (!certificates.ok()) return certificates.status();
    options.tls->root_certificates = *std::move(certificates);
  }
  return options;
}

absl::StatusOr<FileCall> MakeCall(const CallArguments& arguments) {
  FileCall made;
  OperatorCall& call = made.call;
  call.operator_name = arguments.operator_name;
  call.attributes = arguments.attributes;
  call.feature_level = arguments.feature_level;
  call.device = arguments.device;
  call.priority = arguments.priority;
  call.verify = arguments.verify;
  call.request_id = arguments.request_id;
  for (size_t i = 0; i < arguments.input_files.size(); ++i) {
    absl::StatusOr<Tensor> tensor = ReadNpy(arguments.input_files[i]);
    if (!tensor.ok()) return tensor.status();
    made.tensors.push_back(*std::move(tensor));
    TensorSpec spec = made.tensors.back().spec();
    const Dimensions sizes = EntryOf(arguments.sizes, i);
    const Dimensions strides = EntryOf(arguments.strides, i);
    if (!sizes.empty()) spec = {spec.data_type, sizes, {}};
    if (!strides.empty()) spec.strides = strides;
    call.inputs.emplace_back(std::move(spec), made.tensors.back().bytes());
  }
  if (!arguments.output_strides.empty()) {
    call.output.emplace().strides = arguments.output_strides;
  }
  return made;
}

}  // namespace opserve::cli
