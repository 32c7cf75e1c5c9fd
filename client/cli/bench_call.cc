#include "client/cli/bench_call.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve::cli {
namespace {

template <class T>
void Fill(std::mt19937_64& random, std::string& bytes) {
  std::normal_distribution<float> normal(0, 100);
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random());
    } else {
      value = static_cast<T>(normal(random));
    }
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

void Fill(DataType type, std::mt19937_64& random, std::string& bytes) {
  switch (type) {
    case DataType::kFloat32:
      return Fill<float>(random, bytes);
    case DataType::kFloat16:
      return Fill<Half>(random, bytes);
    case DataType::kFloat64:
      return Fill<double>(random, bytes);
    default:
      break;
  }
  // Integers of every width are just bits.
  Fill<uint8_t>(random, bytes);
}

// A value that suits the tensors of the call: the first of an enum, their type, rows along their
// last dimension. Without one where none suits better than others.
std::optional<Attribute> Suggested(const AttributeInfo& info, const BenchArguments& arguments) {
  if (!info.values.empty()) return Attribute{info.name, info.values.front().name};
  if (info.value_kind == AttributeValueKind::kDataType) {
    return Attribute{info.name, std::string(NameOf(arguments.type))};
  }
  if (info.value_kind == AttributeValueKind::kAxes) {
    return Attribute{info.name, Axes{static_cast<int64_t>(arguments.shape.size()) - 1}};
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Attribute>> CompleteAttributes(const OperatorInfo& op,
                                                          const BenchArguments& arguments) {
  std::vector<Attribute> attributes = arguments.attributes;
  for (const AttributeInfo& info : op.attributes) {
    const bool given = std::any_of(attributes.begin(), attributes.end(),
                                   [&](const Attribute& a) { return a.name == info.name; });
    if (given || info.optional) continue;
    std::optional<Attribute> suggested = Suggested(info, arguments);
    if (!suggested) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", info.name, " has no default; ",
                                                     "give it with --attr ", info.name, "=..."));
    }
    attributes.push_back(*std::move(suggested));
  }
  return attributes;
}

bool Supports(const TensorSupport& tensor, DataType type) {
  return std::find(tensor.data_types.begin(), tensor.data_types.end(), type) !=
         tensor.data_types.end();
}

}  // namespace

absl::StatusOr<Tensor> MakeRandomTensor(DataType type, const Dimensions& sizes, uint64_t seed) {
  TensorSpec spec{type, sizes, {}};
  const absl::StatusOr<uint64_t> size = ByteSize(spec);
  if (!size.ok()) return size.status();
  std::string bytes(*size, '\0');
  std::mt19937_64 random(seed);
  Fill(type, random, bytes);
  return Tensor::FromBytes(std::move(spec), std::move(bytes));
}

absl::Status CheckBenchSize(const BenchArguments& arguments, const ServerLimits& limits) {
  const TensorSpec spec{arguments.type, arguments.shape, {}};
  const absl::StatusOr<uint64_t> size = ByteSize(spec);
  if (!size.ok()) return size.status();
  if (*size <= limits.max_tensor_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a tensor ", ToString(spec), " has ", *size, " bytes; this server takes ",
                   limits.max_tensor_bytes, " (see `opserve info`), so --shape must be smaller"));
}

absl::StatusOr<FileCall> MakeBenchCall(const OperatorInfo& op, const BenchArguments& arguments) {
  absl::StatusOr<std::vector<Attribute>> attributes = CompleteAttributes(op, arguments);
  if (!attributes.ok()) return attributes.status();
  FileCall made;
  made.call.operator_name = op.name;
  made.call.attributes = *std::move(attributes);
  made.call.device = arguments.device;
  made.call.priority = arguments.priority;
  made.call.verify = arguments.verify;

  bool type_used = false;
  for (size_t i = 0; i < op.inputs.size() && !op.support.empty(); ++i) {
    const TensorSupport& support = op.support.back().tensors[i];
    const bool fits = Supports(support, arguments.type);
    const Dimensions sizes =
        op.inputs[i].one_element ? Dimensions(arguments.shape.size(), 1) : arguments.shape;
    type_used |= fits;
    absl::StatusOr<Tensor> tensor =
        MakeRandomTensor(fits ? arguments.type : support.data_types.front(), sizes, i);
    if (!tensor.ok()) return tensor.status();
    made.tensors.push_back(*std::move(tensor));
    made.call.inputs.push_back(made.tensors.back().view());
  }
  if (type_used) return made;
  return absl::InvalidArgumentError(absl::StrCat("no input of ", op.name, " can be ",
                                                 NameOf(arguments.type),
                                                 "; see `opserve operators ", op.name, "`"));
}

}  // namespace opserve::cli
