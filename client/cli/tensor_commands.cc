// The verbs below tensor: resident tensors.

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/calls.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/cli/tensor_files.h"
#include "client/cli/tensor_report.h"
#include "client/cli/tensor_table.h"
#include "client/cli/transfers.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// Connects to where `tensors` are, and has `work` done with the client; its status, or what kept it
// from being done, is reported as that of `what`.
template <class Arguments, class Work>
int WithClient(const Arguments& arguments, const Terminal& terminal, const char* what,
               const std::vector<TensorHandle>& tensors, const Work& work) {
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());
  const std::string address = AddressFor(arguments.server.address, tensors);
  const auto client = Client::Connect(address, *options);
  const absl::Status status = client.ok() ? work(**client) : client.status();
  if (status.ok()) return kSuccess;
  return FailCall(terminal, arguments.json, what, address, status);
}

std::vector<TensorHandle> HandlesOf(const std::vector<std::string>& ids) {
  std::vector<TensorHandle> handles;
  for (const std::string& id : ids) handles.push_back({id});
  return handles;
}

std::string CountOf(uint64_t count) {
  return absl::StrCat(count, count == 1 ? " tensor" : " tensors");
}

ResidentOptions OptionsOf(const TensorCreateArguments& arguments) {
  ResidentOptions options;
  options.ttl = arguments.lease;
  options.label = arguments.label;
  options.skip_if_known = arguments.skip_if_known;
  if (arguments.device == "gpu") {
    options.placement = DevicePreference::kGpu;
  } else if (arguments.device != "cpu") {
    options.device = arguments.device;
  }
  options.is_volatile = arguments.is_volatile;
  return options;
}

// Whether what is in `file` can replace elements of the tensor from `first` on. The server would
// find the last piece of a large one to be too long when the others have replaced theirs.
absl::Status CheckFit(const ResidentTensorInfo& info, const Tensor& tensor, uint64_t first,
                      const std::string& file) {
  if (tensor.data_type() != info.spec.data_type) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is ", ToString(tensor.spec()),
                                                   ", but the tensor is ", ToString(info.spec),
                                                   "; their types must be the same"));
  }
  const absl::StatusOr<uint64_t> size = ByteSize(info.spec);
  if (!size.ok()) return size.status();
  const uint64_t elements = *size / SizeOf(tensor.data_type());
  const uint64_t count = tensor.bytes().size() / SizeOf(tensor.data_type());
  if (first <= elements && count <= elements - first) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, " has ", count, " elements, which from ",
                                                 first, " on go beyond the tensor's ", elements));
}

}  // namespace

int RunCommand(const TensorCreateArguments& arguments, const Terminal& terminal) {
  Tensor content;
  if (!arguments.file.empty()) {
    absl::StatusOr<Tensor> read = ReadTensorFile(arguments.file);
    if (!read.ok()) return FailFile(terminal, arguments.json, read.status());
    content = read->Packed();
  }
  return WithClient(arguments, terminal, "tensor create", {}, [&](Client& client) {
    const ResidentOptions options = OptionsOf(arguments);
    const absl::StatusOr<TensorLease> lease =
        arguments.file.empty()
            ? client.CreateTensor(TensorSpec{arguments.type, arguments.shape, {}}, options)
            : CreateWithProgress(client, content, options, terminal);
    if (!lease.ok()) return lease.status();
    if (arguments.json) {
      WriteJson({{"handle", lease->handle.id},
                 {"ttl_s", absl::ToInt64Seconds(lease->ttl)},
                 {"was_known", lease->was_known},
                 {"device", lease->device}},
                terminal);
    } else {
      terminal.out << lease->handle.id << '\n';
    }
    return absl::OkStatus();
  });
}

int RunCommand(const TensorWriteArguments& arguments, const Terminal& terminal) {
  absl::StatusOr<Tensor> read = ReadTensorFile(arguments.file);
  if (!read.ok()) return FailFile(terminal, arguments.json, read.status());
  const Tensor tensor = read->Packed();
  return WithClient(arguments, terminal, "tensor write", {{arguments.handle}}, [&](Client& client) {
    const absl::StatusOr<ResidentTensorInfo> info = FindTensor(client, {arguments.handle});
    if (!info.ok()) return info.status();
    absl::Status status = CheckFit(*info, tensor, arguments.offset, arguments.file);
    if (!status.ok()) return status;
    const uint64_t offset = arguments.offset * SizeOf(tensor.data_type());
    status = WriteWithProgress(client, info->handle, offset, tensor.bytes(), terminal);
    if (status.ok() && arguments.json) {
      WriteJson({{"offset", offset}, {"bytes", tensor.bytes().size()}}, terminal);
    }
    return status;
  });
}

int RunCommand(const TensorReadArguments& arguments, const Terminal& terminal) {
  Tensor tensor;
  const int code =
      WithClient(arguments, terminal, "tensor read", {{arguments.handle}}, [&](Client& client) {
        const absl::StatusOr<ResidentTensorInfo> info = FindTensor(client, {arguments.handle});
        if (!info.ok()) return info.status();
        absl::StatusOr<Tensor> read = ReadWithProgress(client, *info, terminal);
        if (!read.ok()) return read.status();
        tensor = *std::move(read);
        return absl::OkStatus();
      });
  if (code != kSuccess) return code;
  if (!arguments.output.empty()) {
    const absl::Status written = WriteTensorFile(arguments.output, tensor, terminal);
    if (!written.ok()) return FailFile(terminal, arguments.json, written);
  }
  if (arguments.json) {
    Json json = ToJson(tensor);
    if (!arguments.output.empty()) json["file"] = arguments.output;
    WriteJson(json, terminal);
  } else if (arguments.output.empty()) {
    PrintTensor(tensor, terminal);
  }
  return kSuccess;
}

int RunCommand(const TensorListArguments& arguments, const Terminal& terminal) {
  return WithClient(arguments, terminal, "tensor list", {}, [&](Client& client) {
    const absl::StatusOr<ResidentTensorList> list = client.ListTensors();
    if (!list.ok()) return list.status();
    if (!arguments.json) {
      PrintTensorTable(*list, terminal);
      return absl::OkStatus();
    }
    Json tensors = Json::array();
    for (const ResidentTensorInfo& info : list->tensors) {
      Json json = {{"handle", info.handle.id}};
      json.update(ToJson(info.spec));
      json["label"] = info.label;
      json["ttl_s"] = absl::ToInt64Seconds(info.ttl);
      json["device"] = info.device;
      json["volatile"] = info.is_volatile;
      tensors.push_back(std::move(json));
    }
    WriteJson({{"tensors", tensors}, {"bytes", list->bytes}, {"max_bytes", list->max_bytes}},
              terminal);
    return absl::OkStatus();
  });
}

int RunCommand(const TensorRenewArguments& arguments, const Terminal& terminal) {
  return WithClient(arguments, terminal, "tensor renew", HandlesOf(arguments.handles),
                    [&](Client& client) {
                      const absl::StatusOr<absl::Duration> granted =
                          client.RenewTensors(HandlesOf(arguments.handles), arguments.lease);
                      if (!granted.ok()) return granted.status();
                      if (arguments.json) {
                        WriteJson({{"ttl_s", absl::ToInt64Seconds(*granted)}}, terminal);
                      } else {
                        terminal.out << CountOf(arguments.handles.size()) << " renewed for "
                                     << absl::FormatDuration(*granted) << '\n';
                      }
                      return absl::OkStatus();
                    });
}

int RunCommand(const TensorDeleteArguments& arguments, const Terminal& terminal) {
  return WithClient(
      arguments, terminal, "tensor delete", HandlesOf(arguments.handles), [&](Client& client) {
        const absl::StatusOr<uint32_t> deleted = client.DeleteTensors(HandlesOf(arguments.handles));
        if (!deleted.ok()) return deleted.status();
        if (*deleted < arguments.handles.size()) {
          return absl::NotFoundError(absl::StrCat("of ", CountOf(arguments.handles.size()), ", ",
                                                  *deleted, " were there and are deleted"));
        }
        if (arguments.json) {
          WriteJson({{"deleted", *deleted}}, terminal);
        } else {
          terminal.out << CountOf(*deleted) << " deleted\n";
        }
        return absl::OkStatus();
      });
}

}  // namespace opserve::cli
