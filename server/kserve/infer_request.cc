#include "server/kserve/infer_request.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/utf8.h"
#include "kernels/validate_attributes.h"
#include "kernels/violations.h"
#include "server/errors/errors.h"
#include "server/kserve/model_names.h"

namespace opserve {
namespace {

using inference::InferParameter;
using inference::InferTensorContents;
using InputTensor = inference::ModelInferRequest::InferInputTensor;

std::string Shown(absl::string_view text) { return std::string(TruncateUtf8(text, 64)); }

// The list of integers that `text` is, such as "0,2"; nullopt where it is none.
std::optional<std::vector<int64_t>> ListOf(absl::string_view text) {
  std::vector<int64_t> list;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    if (!absl::SimpleAtoi(part, &list.emplace_back())) return std::nullopt;
  }
  return list;
}

// Whether the text is a number, which the attribute then has. Integers keep all of their digits.
bool SetNumber(const std::string& text, v1::Attribute& attribute) {
  int64_t integer = 0;
  uint64_t large = 0;
  double number = 0;
  // Zero may have a sign, which no integer has.
  if (absl::SimpleAtoi(text, &integer) && integer != 0) {
    attribute.set_int_value(integer);
  } else if (absl::SimpleAtoi(text, &large) && large != 0) {
    attribute.set_uint_value(large);
  } else if (absl::SimpleAtod(text, &number)) {
    attribute.set_float_value(number);
  } else {
    return false;
  }
  return true;
}

// An attribute of the operator. Clients of this protocol have no lists, and some no floats: those
// are given as text.
void SetText(const AttributeTraits* known, const std::string& text, v1::Attribute& attribute) {
  if (known != nullptr && known->kind == AttributeKind::kAxes) {
    if (const auto list = ListOf(text)) {
      attribute.mutable_axes()->mutable_values()->Assign(list->begin(), list->end());
      return;
    }
  }
  const bool is_number = known != nullptr && (known->kind == AttributeKind::kFloat ||
                                              known->kind == AttributeKind::kScalar);
  if (!is_number || !SetNumber(text, attribute)) attribute.set_enum_name(text);
}

// What a parameter says that is a number from 0 on; nullopt: it is none.
std::optional<uint64_t> NumberOf(const InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case InferParameter::kUint64Param:
      return value.uint64_param();
    case InferParameter::kInt64Param:
      if (value.int64_param() < 0) return std::nullopt;
      return static_cast<uint64_t>(value.int64_param());
    default:
      return std::nullopt;
  }
}

// Of one of Triton's levels: 0 is what the model says, 1 the most urgent.
v1::Priority PriorityOf(uint64_t level) {
  constexpr std::array kLevels = {v1::PRIORITY_UNSPECIFIED, v1::PRIORITY_HIGH, v1::PRIORITY_NORMAL,
                                  v1::PRIORITY_LOW};
  return kLevels[std::min<uint64_t>(level, kLevels.size() - 1)];
}

class InferTranslation {
 public:
  InferTranslation(const inference::ModelInferRequest& infer, MemoryFinder find_memory,
                   HostBufferPool& buffers, v1::ExecuteRequest& request, InferSettings& settings)
      : infer_(infer),
        find_memory_(find_memory),
        buffers_(buffers),
        request_(request),
        settings_(settings),
        op_(FindOperator(OperatorNameOf(infer.model_name()))) {}

  absl::Status Run(size_t raw_count) {
    request_.set_operator_(OperatorNameOf(infer_.model_name()));
    request_.set_request_id(infer_.id());
    if (!infer_.model_version().empty() && infer_.model_version() != kModelVersion) {
      violations_.Add("model_version", "There is no version \"", Shown(infer_.model_version()),
                      "\"; allowed are \"1\" and none.");
    }
    ReadParameters();
    ReadInputs(raw_count);
    ReadOutputs();
    if (violations_.empty()) return absl::OkStatus();
    return MakeViolationError(violations_.Take(), "");
  }

 private:
  void ReadParameters() {
    if (infer_.parameters_size() > static_cast<int>(kMaxListedItems)) {
      violations_.Add("parameters", "There are ", infer_.parameters_size(), " parameters; at most ",
                      kMaxListedItems, " are allowed.");
      return;
    }
    // In one order, so that equal requests are equal.
    std::map<absl::string_view, const InferParameter*> sorted;
    for (const auto& [name, value] : infer_.parameters()) sorted[name] = &value;
    for (const auto& [name, value] : sorted) ReadParameter(name, *value);
  }

  void ReadParameter(absl::string_view name, const InferParameter& value) {
    if (name == "feature_level") return SetString(name, value, *request_.mutable_feature_level());
    if (name == "device_lease") return SetString(name, value, *request_.mutable_device_lease());
    if (name == "device") {
      v1::DevicePreference device = v1::DEVICE_PREFERENCE_UNSPECIFIED;
      SetName(name, value, "DEVICE_PREFERENCE_", v1::DevicePreference_Parse, "AUTO, GPU, CPU",
              device);
      return request_.set_device(device);
    }
    if (name == "priority") return ReadPriority(name, value);
    if (name == "verify") return request_.set_verify(BoolOf(name, value));
    if (name == "timeout") return ReadTimeout(value);
    if (name == "triton_enable_empty_final_response") {
      settings_.marks_final_response = BoolOf(name, value);
      return;
    }
    if (name == "sequence_id" || name == "sequence_start" || name == "sequence_end") {
      violations_.Add(FieldOf(name), "Operators have no state, so there are no sequences.");
      return;
    }
    AddAttribute(name, value);
  }

  static std::string FieldOf(absl::string_view parameter) {
    return absl::StrCat("parameters[\"", Shown(parameter), "\"]");
  }

  void SetString(absl::string_view name, const InferParameter& value, std::string& out) {
    if (value.parameter_choice_case() == InferParameter::kStringParam) {
      out = value.string_param();
    } else {
      violations_.Add(FieldOf(name), "The value is no string.");
    }
  }

  template <class Enum, class Parse>
  void SetName(absl::string_view name, const InferParameter& value, absl::string_view prefix,
               Parse parse, absl::string_view allowed, Enum& out) {
    if (value.parameter_choice_case() != InferParameter::kStringParam) {
      violations_.Add(FieldOf(name), "The value is no string.");
      return;
    }
    const std::string text = absl::StrCat(prefix, value.string_param());
    if (value.string_param() == "UNSPECIFIED" || !parse(text, &out)) {
      violations_.Add(FieldOf(name), "\"", Shown(value.string_param()), "\" is none of ", allowed,
                      ".");
    }
  }

  void ReadPriority(absl::string_view name, const InferParameter& value) {
    constexpr absl::string_view kAllowed = "LOW, NORMAL, HIGH";
    // Triton's clients have numbers alone.
    if (const auto level = NumberOf(value)) return request_.set_priority(PriorityOf(*level));
    if (value.parameter_choice_case() != InferParameter::kStringParam) {
      violations_.Add(FieldOf(name), "The value is no number from 0 on and none of ", kAllowed,
                      ".");
      return;
    }
    v1::Priority priority = v1::PRIORITY_UNSPECIFIED;
    SetName(name, value, "PRIORITY_", v1::Priority_Parse, kAllowed, priority);
    request_.set_priority(priority);
  }

  bool BoolOf(absl::string_view name, const InferParameter& value) {
    if (value.parameter_choice_case() != InferParameter::kBoolParam) {
      violations_.Add(FieldOf(name), "The value is no bool.");
    }
    return value.bool_param();
  }

  void ReadTimeout(const InferParameter& value) {
    const std::optional<uint64_t> micros = NumberOf(value);
    if (!micros) {
      violations_.Add(FieldOf("timeout"), "The value is no number of microseconds from 0 on.");
      return;
    }
    // A year is as good as for ever.
    constexpr uint64_t kMost = uint64_t{365} * 24 * 3600 * 1'000'000;
    if (*micros > 0) settings_.timeout = std::chrono::microseconds(std::min(*micros, kMost));
  }

  void AddAttribute(absl::string_view name, const InferParameter& value) {
    v1::Attribute& attribute = *request_.add_attributes();
    attribute.set_name(std::string(name));
    switch (value.parameter_choice_case()) {
      case InferParameter::kBoolParam:
        return attribute.set_int_value(value.bool_param() ? 1 : 0);
      case InferParameter::kInt64Param:
        return attribute.set_int_value(value.int64_param());
      case InferParameter::kUint64Param:
        return attribute.set_uint_value(value.uint64_param());
      case InferParameter::kDoubleParam:
        return attribute.set_float_value(value.double_param());
      case InferParameter::kStringParam:
        return SetText(FindAttribute(name), value.string_param(), attribute);
      case InferParameter::PARAMETER_CHOICE_NOT_SET:
        break;
    }
  }

  const AttributeTraits* FindAttribute(absl::string_view name) {
    if (op_ == nullptr) return nullptr;
    if (attributes_.empty()) attributes_ = AttributesFor(*op_);
    const auto found = std::ranges::find(attributes_, name, &AttributeTraits::name);
    return found == attributes_.end() ? nullptr : &*found;
  }

  void ReadInputs(size_t raw_count) {
    const auto count = static_cast<size_t>(infer_.inputs_size());
    if (count > kMaxListedItems) {
      violations_.Add("inputs", "There are ", count, " inputs; at most ", kMaxListedItems,
                      " are allowed.");
      return;
    }
    const bool is_raw = raw_count > 0;
    size_t in_message = 0;
    for (size_t i = 0; i < count; ++i) {
      const InputTensor& input = infer_.inputs(static_cast<int>(i));
      const std::string field = absl::StrCat("inputs[", i, "]");
      const std::optional<DataType> type = ReadDesc(input, field);
      const Memory memory = ReadInputParameters(input, field);
      if ((is_raw || memory.is_named()) && input.has_contents()) {
        violations_.Add(absl::StrCat(field, ".contents"),
                        is_raw ? "There are raw_input_contents, too; only one of both is allowed."
                               : "The input is in shared memory; only one of both is allowed.");
      }
      if (memory.is_named()) {
        // Each input has a place then.
        while (request_.input_places_size() <= static_cast<int>(i)) request_.add_input_places();
        FindMemory(memory, field, *request_.mutable_input_places(static_cast<int>(i)));
        continue;
      }
      ++in_message;
      if (!is_raw && type) ReadContents(input.contents(), *type, field);
    }
    while (request_.input_places_size() > 0 &&
           request_.input_places_size() < static_cast<int>(count)) {
      request_.add_input_places();
    }
    if (is_raw && raw_count != in_message) {
      violations_.Add("raw_input_contents", "There are ", raw_count, " raw contents for ",
                      in_message, " inputs.");
    }
  }

  // Where a tensor is in shared memory.
  struct Memory {
    std::string name;
    uint64_t offset = 0;
    uint64_t bytes = 0;

    bool is_named() const { return !name.empty(); }
  };

  // Whether the parameter is one of those, at the path `of`; takes it then.
  bool ReadMemoryParameter(absl::string_view name, const InferParameter& value,
                           const std::string& of, Memory& memory) {
    if (name == kMemoryRegionParameter) {
      memory.name = value.string_param();
      if (memory.name.empty()) violations_.Add(of, "The value is no name of a region.");
      return true;
    }
    if (name != kMemoryBytesParameter && name != kMemoryOffsetParameter) return false;
    if (value.parameter_choice_case() != InferParameter::kInt64Param || value.int64_param() < 0) {
      violations_.Add(of, "The value is no number of bytes.");
    }
    (name == kMemoryBytesParameter ? memory.bytes : memory.offset) =
        static_cast<uint64_t>(value.int64_param());
    return true;
  }

  // A number of bytes without the name of its region says nothing.
  template <class Parameters>
  void CheckMemoryParameters(const Parameters& parameters, absl::string_view field) {
    if (parameters.empty() || parameters.contains(std::string(kMemoryRegionParameter))) return;
    for (const absl::string_view name : {kMemoryBytesParameter, kMemoryOffsetParameter}) {
      if (!parameters.contains(std::string(name))) continue;
      violations_.Add(absl::StrCat(field, ".", FieldOf(name)),
                      "The name of the region is missing.");
    }
  }

  void FindMemory(const Memory& memory, const std::string& field, v1::TensorPlace& place) {
    *place.mutable_region() =
        find_memory_(memory.name, memory.offset, memory.bytes,
                     absl::StrCat(field, ".", FieldOf(kMemoryRegionParameter)), violations_);
  }

  std::optional<DataType> ReadDesc(const InputTensor& input, const std::string& field) {
    v1::TensorDesc& desc = *request_.add_inputs();
    desc.set_name(input.name());
    for (int d = 0; d < input.shape_size(); ++d) {
      const int64_t size = input.shape(d);
      if (size >= 0 && size <= UINT32_MAX) {
        desc.add_sizes(static_cast<uint32_t>(size));
      } else if (violations_.size() < kMaxReportedViolations) {
        violations_.Add(absl::StrCat(field, ".shape[", d, "]"), size, " is no size from 1 to ",
                        UINT32_MAX, ".");
      }
    }
    const std::optional<DataType> type = DataTypeFromKserveName(input.datatype());
    if (type) {
      desc.set_data_type(static_cast<v1::DataType>(*type));
    } else {
      violations_.Add(absl::StrCat(field, ".datatype"), "There is no type \"",
                      Shown(input.datatype()), "\"; allowed are ", KserveTypeNames(), ".");
    }
    return type;
  }

  Memory ReadInputParameters(const InputTensor& input, const std::string& field) {
    Memory memory;
    for (const auto& [name, value] : input.parameters()) {
      if (violations_.size() >= kMaxReportedViolations) break;
      const std::string of = absl::StrCat(field, ".", FieldOf(name));
      if (ReadMemoryParameter(name, value, of, memory)) continue;
      if (name != "strides") {
        violations_.Add(of,
                        "Only \"strides\" is a parameter of inputs, and those of shared memory.");
        continue;
      }
      ReadStrides(value, of);
    }
    CheckMemoryParameters(input.parameters(), field);
    return memory;
  }

  // Those of the input that is being read.
  void ReadStrides(const InferParameter& value, const std::string& of) {
    const bool is_text = value.parameter_choice_case() == InferParameter::kStringParam;
    const auto list = is_text ? ListOf(value.string_param()) : std::nullopt;
    const bool fits = list && std::ranges::all_of(*list, [](int64_t stride) {
                        return stride >= 0 && stride <= UINT32_MAX;
                      });
    if (!fits) {
      violations_.Add(of,
                      is_text ? absl::StrCat("\"", Shown(value.string_param()), "\"") : "The value",
                      " is no list of strides such as \"0,1\".");
      return;
    }
    v1::TensorDesc& desc = *request_.mutable_inputs(request_.inputs_size() - 1);
    for (const int64_t stride : *list) desc.add_strides(static_cast<uint32_t>(stride));
  }

  void ReadContents(const InferTensorContents& contents, DataType type, const std::string& field) {
    switch (type) {
      case DataType::kFloat64:
        return Copy<double>(contents.fp64_contents(), field);
      case DataType::kFloat32:
        return Copy<float>(contents.fp32_contents(), field);
      case DataType::kInt64:
        return Copy<int64_t>(contents.int64_contents(), field);
      case DataType::kInt32:
        return Copy<int32_t>(contents.int_contents(), field);
      case DataType::kInt16:
        return Copy<int16_t>(contents.int_contents(), field);
      case DataType::kInt8:
        return Copy<int8_t>(contents.int_contents(), field);
      case DataType::kUint64:
        return Copy<uint64_t>(contents.uint64_contents(), field);
      case DataType::kUint32:
        return Copy<uint32_t>(contents.uint_contents(), field);
      case DataType::kUint16:
        return Copy<uint16_t>(contents.uint_contents(), field);
      case DataType::kUint8:
        return Copy<uint8_t>(contents.uint_contents(), field);
      case DataType::kFloat16:
      case DataType::kUnknown:
        break;
    }
    violations_.Add(absl::StrCat(field, ".contents"), "FP16 is in raw_input_contents only.");
  }

  template <class T, class Value>
  void Copy(const google::protobuf::RepeatedField<Value>& values, const std::string& field) {
    HostBuffer buffer = buffers_.Take(values.size() * sizeof(T));
    std::byte* out = buffer.data();
    for (const Value value : values) {
      const T element = static_cast<T>(value);
      if constexpr (!std::is_same_v<T, Value>) {
        if (static_cast<Value>(element) != value) {
          violations_.Add(absl::StrCat(field, ".contents"), value, " is no ", input_type(), ".");
          return;
        }
      }
      std::memcpy(out, &element, sizeof(T));
      out += sizeof(T);
    }
    settings_.content_bytes.push_back(values.size() * sizeof(T));
    settings_.contents.push_back(std::move(buffer));
  }

  // The type of the input that is being read.
  const std::string& input_type() const {
    return infer_.inputs(request_.inputs_size() - 1).datatype();
  }

  void ReadOutputs() {
    if (infer_.outputs_size() == 0 || op_ == nullptr) return;
    if (infer_.outputs_size() > 1) {
      violations_.Add("outputs", "There are ", infer_.outputs_size(), " outputs; models have one.");
      return;
    }
    const auto& output = infer_.outputs(0);
    if (output.name() != op_->output.name) {
      violations_.Add("outputs[0].name", "There is no output \"", Shown(output.name()),
                      "\"; the model has \"", op_->output.name, "\".");
    }
    Memory memory;
    for (const auto& [name, value] : output.parameters()) {
      if (violations_.size() >= kMaxReportedViolations) return;
      const std::string of = absl::StrCat("outputs[0].", FieldOf(name));
      if (ReadMemoryParameter(name, value, of, memory)) continue;
      const std::optional<DataType> type = DataTypeFromKserveName(value.string_param());
      if (name == "datatype" && type) {
        request_.mutable_output()->set_data_type(static_cast<v1::DataType>(*type));
        continue;
      }
      violations_.Add(of, "Only \"datatype\" is a parameter of outputs, with one of ",
                      KserveTypeNames(), ", and those of shared memory.");
    }
    CheckMemoryParameters(output.parameters(), "outputs[0]");
    if (memory.is_named()) FindMemory(memory, "outputs[0]", *request_.mutable_output_place());
  }

  const inference::ModelInferRequest& infer_;
  const MemoryFinder find_memory_;
  HostBufferPool& buffers_;
  v1::ExecuteRequest& request_;
  InferSettings& settings_;
  const OpTraits* const op_;
  // The attributes of the operator, once they are needed.
  std::vector<AttributeTraits> attributes_;
  ViolationList violations_;
};

}  // namespace

absl::Status TranslateInferRequest(const inference::ModelInferRequest& infer, size_t raw_count,
                                   MemoryFinder find_memory, HostBufferPool& buffers,
                                   v1::ExecuteRequest& request, InferSettings& settings) {
  try {
    return InferTranslation(infer, find_memory, buffers, request, settings).Run(raw_count);
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  }
}

}  // namespace opserve
