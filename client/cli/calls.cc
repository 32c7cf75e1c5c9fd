#include "client/cli/calls.h"

#include "client/api/npy.h"
#include "client/cli/transfers.h"

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
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    TensorSpec spec;
    const std::optional<TensorHandle> handle = HandleOf(arguments.inputs[i]);
    if (!handle) {
      absl::StatusOr<Tensor> tensor = ReadNpy(arguments.inputs[i]);
      if (!tensor.ok()) return tensor.status();
      made.tensors.push_back(*std::move(tensor));
      spec = made.tensors.back().spec();
    }
    const Dimensions sizes = EntryOf(arguments.sizes, i);
    const Dimensions strides = EntryOf(arguments.strides, i);
    if (!sizes.empty()) spec = {spec.data_type, sizes, {}};
    if (!strides.empty()) spec.strides = strides;
    call.inputs.push_back(handle ? TensorView::At(*handle, std::move(spec))
                                 : TensorView(std::move(spec), made.tensors.back().bytes()));
  }
  if (!arguments.output_strides.empty()) {
    call.output.emplace().strides = arguments.output_strides;
  }
  return made;
}

absl::Status CompleteResidentInputs(Client& client, bool all, OperatorCall& call) {
  for (TensorView& input : call.inputs) {
    const auto* handle = input.place() ? std::get_if<TensorHandle>(&*input.place()) : nullptr;
    TensorSpec spec = input.spec();
    if (handle == nullptr || (spec == TensorSpec() && !all)) continue;
    const absl::StatusOr<ResidentTensorInfo> info = FindTensor(client, *handle);
    if (!info.ok()) return info.status();
    spec.data_type = info->spec.data_type;
    if (spec.sizes.empty()) {
      spec.sizes = info->spec.sizes;
      if (spec.strides.empty()) spec.strides = info->spec.strides;
    }
    input = TensorView::At(*handle, std::move(spec));
  }
  return absl::OkStatus();
}

}  // namespace opserve::cli
