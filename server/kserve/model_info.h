// File: server/kserve/model_info.h
//
// What KServe's clients are told of models. Stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_KSERVE_MODEL_INFO_H_
#define OPSERVE_SERVER_KSERVE_MODEL_INFO_H_

#include "inference/inference_service.pb.h"
#include "kernels/op_table.h"

namespace opserve {

// What the platform and the backend of all models are called.
inline constexpr char kModelPlatform[] = "opserve";

// Names, and of each tensor one type that it may have: that of calls in FLOAT32, or else in the
// first type that the operator takes. Tensors may have any dimensions.
void WriteModelMetadata(const OpTraits& op, inference::ModelMetadataResponse& out);
void WriteModelConfig(const OpTraits& op, inference::ModelConfig& out);

// All models.
void WriteModelIndex(inference::RepositoryIndexResponse& out);

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_MODEL_INFO_H_
