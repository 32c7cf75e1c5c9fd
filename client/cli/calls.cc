#include "client/cli/calls.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/tensor_files.h"
#include "client/cli/transfers.h"
#include "client/rpc/pem.h"
#include "client/rpc/target.h"

namespace opserve::cli {
namespace {

// Entry `i` of a list that may be shorter than the inputs; empty where there is none.
template <class T>
T EntryOf(const std::vector<T>& list, size_t i) {
  return i < list.size() ? list[i] : T();
}

// The token is all of the file but the white space around it, such as a last line end.
absl::StatusOr<std::string> ReadToken(const std::string& file) {
  absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) return text.status();
  absl::StripAsciiWhitespace(&*text);
  if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(file, " holds no token"));
  return text;
}

// The text of a file that must be what `check` looks for; "" for no file.
absl::StatusOr<std::string> ReadPem(const std::string& file,
                                    absl::Status (*check)(const std::string&)) {
  if (file.empty()) return std::string();
  absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) return text.status();
  const absl::Status status = check(*text);
  if (status.ok()) return text;
  return absl::Status(status.code(), absl::StrCat(file, " ", status.message()));
}

absl::Status ReadTls(const ServerArguments& arguments, ClientOptions& options) {
  using client_internal::CheckCertificates;
  using client_internal::CheckKey;
  if (!arguments.tls && arguments.tls_ca_file.empty() && arguments.tls_server_name.empty() &&
      arguments.tls_certificate_file.empty() && arguments.tls_key_file.empty()) {
    return absl::OkStatus();
  }
  TlsOptions& tls = options.tls.emplace();
  tls.server_name = arguments.tls_server_name;
  auto text = ReadPem(arguments.tls_ca_file, CheckCertificates);
  if (!text.ok()) return text.status();
  tls.root_certificates = *std::move(text);
  text = ReadPem(arguments.tls_certificate_file, CheckCertificates);
  if (!text.ok()) return text.status();
  tls.client_certificate = *std::move(text);
  text = ReadPem(arguments.tls_key_file, CheckKey);
  if (!text.ok()) return text.status();
  tls.client_key = *std::move(text);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClientOptions> MakeClientOptions(const ServerArguments& arguments) {
  ClientOptions options;
  options.connect_timeout = std::min(options.connect_timeout, arguments.timeout);
  options.default_timeout = arguments.timeout;
  options.bearer_token = arguments.token;
  options.client_name = arguments.client_name;
  if (!arguments.token_file.empty()) {
    absl::StatusOr<std::string> token = ReadToken(arguments.token_file);
    if (!token.ok()) return token.status();
    options.bearer_token = *std::move(token);
  }
  const absl::Status status = ReadTls(arguments, options);
  if (!status.ok()) return status;
  return options;
}

std::string AddressFor(const std::string& target, const std::vector<TensorHandle>& tensors) {
  if (tensors.empty()) return target;
  const absl::string_view host = HostOf(tensors.front().id);
  const bool is_one_host = std::ranges::all_of(
      tensors, [&](const TensorHandle& tensor) { return HostOf(tensor.id) == host; });
  const auto listed = client_internal::SplitTarget(target);
  if (!is_one_host || !listed.ok() || std::ranges::count(*listed, host) == 0) return target;
  return std::string(host);
}

std::vector<TensorHandle> HandlesAmong(const std::vector<std::string>& inputs) {
  std::vector<TensorHandle> handles;
  for (const std::string& input : inputs) {
    const std::optional<TensorHandle> handle = HandleOf(input);
    if (handle) handles.push_back(*handle);
  }
  return handles;
}

std::optional<TensorSpec> WantedOutput(DataType type, const Dimensions& strides) {
  if (type == DataType::kUnknown && strides.empty()) return std::nullopt;
  return TensorSpec{type, {}, strides};
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
      absl::StatusOr<Tensor> tensor = ReadTensorFile(arguments.inputs[i]);
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
    call.inputs.back().set_name(EntryOf(arguments.input_names, i));
  }
  call.output = WantedOutput(arguments.output_type, arguments.output_strides);
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
    input = TensorView::At(*handle, std::move(spec)).set_name(input.name());
  }
  return absl::OkStatus();
}

}  // namespace opserve::cli
