#include "server/kserve/model_info.h"

#include <string>

#include "server/kserve/model_names.h"

namespace opserve {
namespace {

constexpr int64_t kAnySize = -1;

// The type of tensor `i`, an input or the output, in calls of the kind that is told.
DataType TypeOf(const OpTraits& op, int i) {
  const DataTypeSet lanes = op.lane_types();
  const DataType lane = lanes.contains(DataType::kFloat32) ? DataType::kFloat32 : lanes.first();
  return i < op.input_count() ? op.InputType(i, lane) : op.OutputTypes(lane).last();
}

}  // namespace

void WriteModelMetadata(const OpTraits& op, inference::ModelMetadataResponse& out) {
  out.set_name(ModelNameOf(op));
  out.add_versions(kModelVersion);
  out.set_platform(kModelPlatform);
  for (int i = 0; i < op.tensor_count(); ++i) {
    auto& tensor = i < op.input_count() ? *out.add_inputs() : *out.add_outputs();
    tensor.set_name(std::string(op.tensor(i).name));
    tensor.set_datatype(std::string(KserveNameOf(TypeOf(op, i))));
    tensor.add_shape(kAnySize);
  }
}

void WriteModelConfig(const OpTraits& op, inference::ModelConfig& out) {
  out.set_name(ModelNameOf(op));
  out.set_platform(kModelPlatform);
  out.set_backend(kModelPlatform);
  for (int i = 0; i < op.input_count(); ++i) {
    inference::ModelInput& input = *out.add_input();
    input.set_name(std::string(op.inputs[i].name));
    input.set_data_type(KserveNumberOf(TypeOf(op, i)));
    input.add_dims(kAnySize);
    input.set_optional(op.inputs[i].optional);
  }
  inference::ModelOutput& output = *out.add_output();
  output.set_name(std::string(op.output.name));
  output.set_data_type(KserveNumberOf(TypeOf(op, op.input_count())));
  output.add_dims(kAnySize);
}

void WriteModelIndex(inference::RepositoryIndexResponse& out) {
  for (const OpTraits& op : OpTable()) {
    auto& model = *out.add_models();
    model.set_name(ModelNameOf(op));
    model.set_version(kModelVersion);
    model.set_state("READY");
  }
}

}  // namespace opserve
