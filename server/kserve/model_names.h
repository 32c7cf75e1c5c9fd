// File: server/kserve/model_names.h
//
// What KServe's clients call operators and element types. Stateless and safe to use from any
// thread.

#ifndef OPSERVE_SERVER_KSERVE_MODEL_NAMES_H_
#define OPSERVE_SERVER_KSERVE_MODEL_NAMES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "inference/inference_service.pb.h"
#include "kernels/op_table.h"

namespace opserve {

// The one version that every model has.
inline constexpr char kModelVersion[] = "1";

// Parameters of inputs and outputs that are in shared memory.
inline constexpr absl::string_view kMemoryRegionParameter = "shared_memory_region";
inline constexpr absl::string_view kMemoryBytesParameter = "shared_memory_byte_size";
inline constexpr absl::string_view kMemoryOffsetParameter = "shared_memory_offset";

// "element_wise_round" for ELEMENT_WISE_ROUND.
std::string ModelNameOf(const OpTraits& op);

// The operator's name for a model's, in either case of letters; there may be no such operator.
std::string OperatorNameOf(absl::string_view model);

// The model of that name and version; an empty version is any. OPERATOR_NOT_FOUND, with the nearest
// names, or INVALID_REQUEST for another version.
absl::StatusOr<const OpTraits*> FindModel(absl::string_view name, absl::string_view version);

// "FP32" for kFloat32. `type` must be known.
absl::string_view KserveNameOf(DataType type);
// The type of that name; nullopt for others, such as "BOOL" and "BYTES".
std::optional<DataType> DataTypeFromKserveName(absl::string_view name);
// All names, "FP64, FP32, ...".
std::string KserveTypeNames();

// The same as a number of model configurations.
inference::DataType KserveNumberOf(DataType type);

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_MODEL_NAMES_H_
