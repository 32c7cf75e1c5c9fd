#include "client/cli/result_layout.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace opserve::cli {
namespace {

using Groups = std::vector<std::vector<std::string>>;

bool IsFloat(DataType type) {
  return type == DataType::kFloat64 || type == DataType::kFloat32 || type == DataType::kFloat16;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The first input that shares a group with the output; null where there is none.
const TensorView* PeerOfOutput(const OperatorInfo& op, const OperatorCall& call,
                               const Groups& groups) {
  for (const std::vector<std::string>& group : groups) {
    if (!Contains(group, op.output.name)) continue;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const std::string& name = call.inputs[i].name();
      if (Contains(group, name.empty() ? op.inputs[i].name : name)) return &call.inputs[i];
    }
  }
  return nullptr;
}

// What a call gets that leaves the type open: as small as there is, rather unsigned; kUnknown where
// some are no integers.
DataType SmallestOf(const std::vector<DataType>& types) {
  DataType smallest = DataType::kUnknown;
  for (const DataType type : kAllDataTypes) {
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    if (IsFloat(type)) return DataType::kUnknown;
    smallest = type;
  }
  return smallest;
}

DataType TypeOfOutput(const OperatorInfo& op, const OperatorCall& call) {
  if (call.output && call.output->data_type != DataType::kUnknown) return call.output->data_type;
  const TensorView* const peer = PeerOfOutput(op, call, op.same_data_type);
  if (peer != nullptr) return peer->spec().data_type;
  if (op.support.empty() || op.support.back().tensors.empty()) return DataType::kUnknown;
  const std::vector<DataType>& types = op.support.back().tensors.back().data_types;
  return types.size() == 1 ? types[0] : SmallestOf(types);
}

}  // namespace

absl::StatusOr<TensorSpec> ResultLayout(const OperatorInfo& op, const OperatorCall& call) {
  if (call.inputs.size() > op.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(op.name, " takes ", op.inputs.size(), " inputs, not ", call.inputs.size()));
  }
  const TensorView* const peer = PeerOfOutput(op, call, op.same_sizes);
  const DataType type = TypeOfOutput(op, call);
  if (type == DataType::kUnknown) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server's catalogue does not tell the type of the result of ", op.name,
                     "; give --output-type"));
  }
  if (peer == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server's catalogue does not tell the size of the result of ", op.name));
  }
  TensorSpec spec{type, peer->spec().sizes, {}};
  if (call.output) spec.strides = call.output->strides;
  return spec;
}

}  // namespace opserve::cli
