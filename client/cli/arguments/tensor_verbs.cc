// The verbs below tensor: resident tensors.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

constexpr char kTensorFooter[] =
    "A tensor belongs to the clients of this host with the same --client-name. It\n"
    "ends with its lease, when it is deleted, or with the server. In other verbs,\n"
    "tensor:HANDLE names it.\n"
    "\n"
    "  handle=$(opserve tensor create x.npy)\n"
    "  opserve run ELEMENT_WISE_ROUND --attr RoundingMode=TOWARD_ZERO \\\n"
    "    --input tensor:$handle --output y.npy";

void AddHandle(Verb verb, std::string& handle) {
  verb.AddOption("HANDLE", "HANDLE", TakeUtf8(handle), "Handle of the tensor", {.required = true});
}

void AddHandles(Verb verb, std::vector<std::string>& handles) {
  verb.AddOption("HANDLE", "HANDLE", AppendUtf8(handles), "Handles of tensors",
                 {.required = true, .repeated = true});
}

void AddLease(Verb verb, absl::Duration& lease) {
  verb.AddOption("--lease", "DURATION", TakeDuration(lease),
                 "How long the tensor is to live from now on, such as 90s or 10m; the server may "
                 "grant less [as long as the server likes]");
}

std::string CheckCreate(const TensorCreateArguments& create) {
  const bool has_shape = !create.shape.empty();
  const bool has_type = create.type != DataType::kUnknown;
  if (!create.file.empty() && (has_shape || has_type)) {
    return "FILE brings its own sizes and type; leave --shape and --type out";
  }
  if (create.file.empty() && !(has_shape && has_type)) {
    return "needs FILE, or --shape and --type for zeros";
  }
  if (create.file.empty() && create.skip_if_known) return "--skip-if-known needs FILE";
  if (create.is_volatile && (create.device.empty() || create.device == "cpu")) {
    return "--volatile needs --device gpu, or the name of a GPU";
  }
  return "";
}

void AddCreate(Verb tensor, Command& command) {
  const auto create = std::make_shared<TensorCreateArguments>();
  Verb verb = tensor.AddVerb("create", "Keep a tensor at the server; print its handle");
  verb.AddOption("FILE", "FILE", TakeAny(create->file),
                 ".npy file of its content, or - for standard input");
  verb.AddOption("--shape", "SIZES", TakeDimensions(create->shape),
                 "Zeros of these sizes instead of FILE, such as 1024x1024");
  verb.AddOption("--type", TypeChoices(), TakeType(create->type), "Element type of the zeros");
  AddLease(verb, create->lease);
  verb.AddOption("--label", "TEXT", TakeUtf8(create->label),
                 "Text that `tensor list` shows, at most 128 bytes");
  verb.AddOption("--device", "DEVICE", TakeUtf8(create->device),
                 "Where calls find it: gpu for whichever GPU has most room, cpu, or a name that "
                 "`opserve devices` shows [cpu]");
  verb.AddFlag("--volatile", create->is_volatile,
               "Let results stay on the GPU alone until they are read; they are lost with it");
  verb.AddFlag("--skip-if-known", create->skip_if_known,
               "Send the content only if the server has it in no tensor of this client");
  ChooseAtServer<TensorCreateArguments>(verb, command, create, CheckCreate);
}

void AddWrite(Verb tensor, Command& command) {
  const auto write = std::make_shared<TensorWriteArguments>();
  Verb verb = tensor.AddVerb("write", "Replace elements of a tensor");
  AddHandle(verb, write->handle);
  verb.AddOption("FILE", "FILE", TakeAny(write->file),
                 ".npy file of the same type; its elements are written in C order",
                 {.required = true});
  verb.AddOption("--offset", "N", TakeNumber<uint64_t>(0, uint64_t{1} << 53, write->offset),
                 "First element to replace", {.default_value = "0"});
  ChooseAtServer(verb, command, write);
}

void AddRead(Verb tensor, Command& command) {
  const auto read = std::make_shared<TensorReadArguments>();
  Verb verb = tensor.AddVerb("read", "Show a tensor, or write it to a file");
  AddHandle(verb, read->handle);
  verb.AddOption("--output", "FILE", TakeAny(read->output),
                 ".npy file to write, or - for standard output [shown only]");
  ChooseAtServer<TensorReadArguments>(verb, command, read,
                                      [](const TensorReadArguments& arguments) {
                                        return CheckOutputFile(arguments.output, arguments.json);
                                      });
}

void AddList(Verb tensor, Command& command) {
  const auto list = std::make_shared<TensorListArguments>();
  const Verb verb = tensor.AddVerb("list", "List the tensors of this client, oldest first");
  ChooseAtServer(verb, command, list);
}

void AddRenew(Verb tensor, Command& command) {
  const auto renew = std::make_shared<TensorRenewArguments>();
  const Verb verb = tensor.AddVerb("renew", "Have the leases of tensors start again");
  AddHandles(verb, renew->handles);
  AddLease(verb, renew->lease);
  ChooseAtServer(verb, command, renew);
}

void AddDelete(Verb tensor, Command& command) {
  const auto remove = std::make_shared<TensorDeleteArguments>();
  const Verb verb =
      tensor.AddVerb("delete", "Give tensors up; exit code 1 if there were not all of them");
  AddHandles(verb, remove->handles);
  ChooseAtServer(verb, command, remove);
}

}  // namespace

void AddTensor(Verb root, Command& command) {
  Verb tensor = root.AddVerb("tensor", "Keep tensors at the server between calls");
  tensor.RequireVerb();
  tensor.SetFooter(kTensorFooter);
  AddCreate(tensor, command);
  AddWrite(tensor, command);
  AddRead(tensor, command);
  AddList(tensor, command);
  AddRenew(tensor, command);
  AddDelete(tensor, command);
}

}  // namespace opserve::cli
