// File: opserve/catalogue.h
//
// What a server offers: its operators, devices and limits, as plain structs.

#ifndef OPSERVE_CATALOGUE_H_
#define OPSERVE_CATALOGUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "opserve/data_type.h"
#include "opserve/devices.h"

namespace opserve {

// A tensor of an operator.
struct TensorInfo {
  std::string name;  // DirectML's member name
  bool optional = false;
  std::string optional_since = {};  // where optional: the feature level from which on it is
  bool one_element = false;         // exactly one, which goes with all elements of the others
};

// One allowed value of an enum attribute.
struct EnumValueInfo {
  std::string name;  // without DirectML's prefix
  int32_t number = 0;
  std::string meaning;
};

// What values an attribute takes. kUnknown: the server is newer than this client.
enum class AttributeValueKind : uint8_t {
  kUnknown = 0,
  kEnum = 1,
  kInt = 2,
  kFloat = 3,
  kDataType = 4,    // the name of the tensors' data type
  kScalar = 5,      // a number of that type
  kActivation = 6,  // the name of an operator
  kAxes = 7         // a list of dimensions
};

// "enum", "int", "float", "data_type", "scalar", "activation", "axes"; "unknown" for any other
// number.
absl::string_view NameOf(AttributeValueKind kind);

// An attribute of an operator.
struct AttributeInfo {
  std::string name;  // DirectML's member name
  // Deprecated: value_kind says it as an enum. The name as the server gives it.
  // Without the attribute, which would make every copy of the struct a warning.
  std::string kind;
  bool optional = false;
  std::vector<EnumValueInfo> values;  // of kEnum
  AttributeValueKind value_kind = AttributeValueKind::kUnknown;
};

// What one tensor may be.
struct TensorSupport {
  std::string name;
  uint32_t min_dimension_count = 0;
  uint32_t max_dimension_count = 0;
  std::vector<DataType> data_types;
};

// What an operator supports from one feature level on.
struct SupportInfo {
  std::string feature_level;
  std::vector<TensorSupport> tensors;  // inputs first, then the output
};

// What one device can do for an operator.
struct OperatorDevice {
  std::string device;                // as in DeviceInfo::name
  std::string tensor;                // whose type selects the kernel
  std::vector<DataType> data_types;  // of that tensor, with a kernel
};

// One operator.
struct OperatorInfo {
  std::string name;        // as used in OperatorCall::operator_name
  std::string summary;     // one sentence
  std::string formula;     // the result, over tensor and attribute names
  std::string introduced;  // feature level
  std::vector<TensorInfo> inputs;
  TensorInfo output;
  std::vector<AttributeInfo> attributes;
  // Groups of tensors that must agree. Tensors of one element have no such sizes.
  std::vector<std::vector<std::string>> same_sizes;
  std::vector<std::vector<std::string>> same_data_type;  // likewise
  std::vector<std::string> in_place;                     // inputs that the output may alias
  std::vector<SupportInfo> support;                      // ascending by feature level
  uint32_t max_ulp = 0;                                  // largest error; 0: exact to the bit
  std::vector<OperatorDevice> devices;  // with a kernel for it; what one lacks runs on the CPU
  std::string family;                   // "arithmetic"; empty where an old server does not tell
  // Groups like same_data_type, but that FLOAT32 goes with an integer type of the first.
  std::vector<std::vector<std::string>> same_float_type;
};

// One feature level.
struct FeatureLevelInfo {
  std::string name;    // "6_4"
  uint32_t value = 0;  // DML_FEATURE_LEVEL's number
  uint32_t max_dimension_count = 0;
};

// The catalogue of a server.
struct Catalogue {
  std::vector<OperatorInfo> operators;           // by family, and by name within each
  std::vector<FeatureLevelInfo> feature_levels;  // ascending
};

// Limits in force at a server.
struct ServerLimits {
  uint32_t max_dimension_count = 0;
  uint64_t max_elements = 0;
  uint64_t max_tensor_bytes = 0;
  uint32_t max_request_id_bytes = 0;
  uint64_t max_message_bytes = 0;
  uint32_t max_concurrent_requests = 0;
  uint64_t max_queued_bytes = 0;
  uint32_t max_batch_requests = 0;  // of one batch on a GPU
  uint64_t max_batch_bytes = 0;     // likewise
  uint64_t max_resident_bytes_per_client = 0;
  uint64_t max_resident_bytes = 0;  // of all clients
  absl::Duration max_lease;         // of a resident tensor
  uint32_t max_sequence_steps = 0;
  uint64_t max_stream_bytes = 0;  // of tensors that one stream has under way
  // The longest lease of a GPU, renewals included; 0: they cannot be leased.
  absl::Duration max_device_lease;
  uint32_t max_device_leases_per_client = 0;  // held and waited for
};

// How programs on the server's machine share memory with it; Client::CreateRegion does.
struct SharedMemoryInfo {
  std::string socket;      // path of the socket where regions are registered
  uint64_t max_bytes = 0;  // of the regions of one client
};

// What a server is.
struct ServerInfo {
  std::string version;
  std::string feature_level;  // highest, the default of calls
  std::vector<DeviceInfo> devices;
  ServerLimits limits;
  absl::Duration uptime;
  std::optional<SharedMemoryInfo> shared_memory;  // absent where memory cannot be shared
  // Address under which clients reach it among others; empty: it tells none.
  std::string host;
};

// Answer of a health check, with the numbers of grpc.health.v1.
enum class HealthStatus : uint8_t { kUnknown = 0, kServing = 1, kNotServing = 2 };

}  // namespace opserve

#endif  // OPSERVE_CATALOGUE_H_
