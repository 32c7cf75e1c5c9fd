// The verb inputs: the inputs that client/inputs keeps, as files.

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/api/npy.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/inputs/hard_inputs.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// The shortest decimal text that only this number has.
std::string ShortestText(float value) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

// " --attr Alpha=1"
std::string AttributeOptions(const HardInputs& inputs) {
  std::string options;
  for (const HardInputAttribute& attribute : inputs.attributes) {
    absl::StrAppend(&options, " --attr ", attribute.name, "=", ShortestText(attribute.value));
  }
  return options;
}

// The lowest bytes of each, little endian as all tensors.
absl::StatusOr<Tensor> TensorOf(DataType type, const std::vector<uint32_t>& values) {
  const size_t size = SizeOf(type);
  std::string bytes(values.size() * size, '\0');
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&bytes[i * size], &values[i], size);
  return Tensor::FromBytes({type, {static_cast<uint32_t>(values.size())}, {}}, std::move(bytes));
}

// A file that was written.
struct InputFile {
  const HardInputs* inputs;
  std::string path;
  size_t hard;
  size_t special;
};

absl::StatusOr<InputFile> WriteInputs(const HardInputs& inputs, const std::string& folder) {
  const std::vector<uint32_t> values = HardAndSpecialInputs(inputs);
  const size_t hard = WithBothSigns(inputs).size();
  const std::string name = absl::StrCat(inputs.operator_name, ".", NameOf(inputs.type), ".npy");
  // A file in the folder of the command needs no "./".
  InputFile file{&inputs, folder == "." ? name : absl::StrCat(folder, "/", name), hard,
                 values.size() - hard};
  const absl::StatusOr<Tensor> tensor = TensorOf(inputs.type, values);
  if (!tensor.ok()) return tensor.status();
  const absl::Status written = WriteNpy(file.path, *tensor);
  if (!written.ok()) return written;
  return file;
}

Json FilesAsJson(const std::vector<InputFile>& files) {
  const HardInputs& inputs = *files.front().inputs;
  Json json = {{"operator", inputs.operator_name}, {"attributes", Json::object()}};
  for (const HardInputAttribute& attribute : inputs.attributes) {
    json["attributes"][std::string(attribute.name)] = attribute.value;
  }
  for (const InputFile& file : files) {
    json["files"].push_back({{"file", file.path},
                             {"type", NameOf(file.inputs->type)},
                             {"hard", file.hard},
                             {"special", file.special}});
  }
  return json;
}

void PrintFiles(const std::vector<InputFile>& files, const Terminal& terminal) {
  Table table({"file", "hard", "special"});
  for (const InputFile& file : files) {
    table.AddRow({file.path, ShowCount(file.hard), ShowCount(file.special)});
  }
  table.Print(terminal);
  const HardInputs& inputs = *files.front().inputs;
  terminal.out << "\nCompare a device's result with the right one:\n  opserve compare "
               << inputs.operator_name << AttributeOptions(inputs) << " --input "
               << files.front().path << " --actual RESULT.npy\n";
}

int List(const InputsArguments& arguments, const Terminal& terminal) {
  Json json = Json::array();
  Table table({"operator", "type", "hard", "attributes"});
  for (const HardInputs& inputs : AllHardInputs()) {
    if (arguments.type != DataType::kUnknown && inputs.type != arguments.type) continue;
    const size_t hard = WithBothSigns(inputs).size();
    std::string options = AttributeOptions(inputs);
    if (!options.empty()) options.erase(0, 1);
    table.AddRow({std::string(inputs.operator_name), std::string(NameOf(inputs.type)),
                  ShowCount(hard), options});
    json.push_back({{"operator", inputs.operator_name},
                    {"type", NameOf(inputs.type)},
                    {"hard", hard},
                    {"attributes", Json::object()}});
    for (const HardInputAttribute& attribute : inputs.attributes) {
      json.back()["attributes"][std::string(attribute.name)] = attribute.value;
    }
  }
  if (arguments.json) {
    WriteJson({{"inputs", json}}, terminal);
  } else {
    table.Print(terminal);
  }
  return kSuccess;
}

}  // namespace

int RunCommand(const InputsArguments& arguments, const Terminal& terminal) {
  if (arguments.operator_name.empty()) return List(arguments, terminal);
  std::vector<InputFile> files;
  for (const HardInputs& inputs : AllHardInputs()) {
    if (inputs.operator_name != arguments.operator_name) continue;
    if (arguments.type != DataType::kUnknown && inputs.type != arguments.type) continue;
    absl::StatusOr<InputFile> file = WriteInputs(inputs, arguments.folder);
    if (!file.ok()) return FailFile(terminal, arguments.json, file.status());
    files.push_back(*std::move(file));
  }
  if (files.empty()) {
    const std::string type = arguments.type == DataType::kUnknown
                                 ? ""
                                 : absl::StrCat("of ", NameOf(arguments.type), " ");
    return FailUsage(terminal, arguments.json,
                     absl::NotFoundError(absl::StrCat(
                         "there are no hard inputs ", type, "for ", arguments.operator_name,
                         "; `opserve inputs` lists those that there are")));
  }
  if (arguments.json) {
    WriteJson(FilesAsJson(files), terminal);
  } else {
    PrintFiles(files, terminal);
  }
  return kSuccess;
}

}  // namespace opserve::cli
