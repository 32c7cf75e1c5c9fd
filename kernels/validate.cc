#include "kernels/validate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/operator_hint.h"
#include "kernels/validate_attributes.h"
#include "kernels/validate_tensor.h"

namespace opserve {
namespace {

std::string SizesText(std::span<const uint32_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

// Has the one element of `single` go with each of `output`.
void Repeat(TensorDesc& single, const TensorDesc& output) {
  single.dimension_count = output.dimension_count;
  single.sizes = output.sizes;
  single.strides = {};
  single.has_strides = true;
}

std::string InputField(size_t i) { return absl::StrCat("inputs[", i, "]"); }

// One validation: collects violations and, as far as they permit, the parts of the invocation.
class Validation {
 public:
  Validation(const OperatorRequest& request, const ValidationLimits& limits)
      : request_(request), limits_(limits) {}

  ValidationResult Run() {
    CheckLevelAndOperator();
    if (op_ != nullptr) {
      const GivenAttributes given = CheckAttributes(*op_, level_, request_.attributes, violations_);
      invocation_.attributes = given.values;
      invocation_.scale_bias = given.scale_bias;
      invocation_.fused_activation = given.fused_activation;
    }
    if (CountsAreListable()) {
      if (op_ != nullptr) AssignInputs();
      CheckInputs();
      CheckPayloads();
      if (op_ != nullptr) CheckTensorsTogether();
    }
    return Finish();
  }

 private:
  // Position in the request of every input of the operator; nullopt where absent.
  using InputPositions = std::array<std::optional<size_t>, kMaxInputs>;

  void CheckLevelAndOperator() {
    if (!request_.feature_level.empty()) {
      const std::optional<FeatureLevel> level = FeatureLevelFromName(request_.feature_level);
      if (!level) {
        violations_.Add("feature_level", "There is no feature level ",
                        Quoted(request_.feature_level), "; known are ",
                        absl::StrJoin(kAllFeatureLevels, ", ",
                                      [](std::string* out, FeatureLevel known) {
                                        absl::StrAppend(out, NameOf(known));
                                      }),
                        ".");
      }
      level_ = level.value_or(kHighestFeatureLevel);
    }
    op_ = FindOperator(request_.operator_name);
    if (op_ == nullptr) {
      ReportUnknownOperator();
      return;
    }
    support_ = op_->SupportAt(level_);
    if (support_ == nullptr) {
      violations_.Add("operator", op_->name, " was introduced at feature level ",
                      NameOf(op_->introduced()), ", later than the level asked for (",
                      NameOf(level_), ").");
    }
  }

  void ReportUnknownOperator() {
    unknown_operator_ = true;
    if (request_.operator_name.empty()) {
      violations_.Add("operator", "The operator's name is missing; ListOperators tells the names.");
      return;
    }
    violations_.Add("operator", "There is no operator ", Quoted(request_.operator_name),
                    OperatorHint(request_.operator_name, "; ListOperators tells the names."));
  }

  // Guards the loops below against requests with absurd numbers of items.
  bool CountsAreListable() {
    const std::pair<absl::string_view, size_t> lists[] = {
        {"inputs", request_.inputs.size()}, {"payloads", request_.payload_bytes.size()}};
    bool listable = true;
    for (const auto& [field, count] : lists) {
      if (count <= kMaxListedItems) continue;
      violations_.Add(field, "The number of ", field, " (", count,
                      ") exceeds what any operator takes (", kMaxInputs, ").");
      listable = false;
    }
    return listable;
  }

  // Finds out which tensor of the request is which input of the operator.
  void AssignInputs() {
    const auto named = static_cast<size_t>(
        std::count_if(request_.inputs.begin(), request_.inputs.end(),
                      [](const TensorDescView& tensor) { return !tensor.name.empty(); }));
    if (named == 0) {
      AssignByPosition();
    } else if (named == request_.inputs.size()) {
      AssignByName();
    } else {
      violations_.Add("inputs", "Only ", named, " of ", request_.inputs.size(),
                      " tensors are named; name all or none.");
      AssignByPosition();
      return;
    }
    for (int i = 0; i < op_->input_count(); ++i) {
      if (positions_[i] || op_->inputs[i].is_optional_at(level_)) continue;
      violations_.Add("inputs", "The tensor ", op_->inputs[i].name, " is missing; ", op_->name,
                      " takes ", InputNames(), ".");
    }
  }

  void AssignByPosition() {
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      if (i < op_->inputs.size()) {
        positions_[i] = i;
      } else {
        violations_.Add(InputField(i), "The tensor is surplus; ", op_->name, " takes ",
                        op_->inputs.size(), ": ", InputNames(), ".");
      }
    }
  }

  void AssignByName() {
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const absl::string_view name = request_.inputs[i].name;
      const TensorTraits* const found =
          std::find_if(op_->inputs.begin(), op_->inputs.end(),
                       [&](const TensorTraits& known) { return known.name == name; });
      const std::string field = absl::StrCat(InputField(i), ".name");
      if (found == op_->inputs.end()) {
        violations_.Add(field, op_->name, " has no input ", Quoted(name), "; it takes ",
                        InputNames(), ".");
        continue;
      }
      std::optional<size_t>& position = positions_[found - op_->inputs.begin()];
      if (position) {
        violations_.Add(field, "The tensor ", found->name, " is given more than once.");
      } else {
        position = i;
      }
    }
  }

  std::string InputNames() const {
    return absl::StrJoin(op_->inputs, ", ", [](std::string* out, const TensorTraits& tensor) {
      absl::StrAppend(out, tensor.name);
    });
  }

  // Index of the operator's input that is at `position` in the request, or -1.
  int InputAt(size_t position) const {
    const auto found = std::find(positions_.begin(), positions_.end(), std::optional(position));
    return found == positions_.end() ? -1 : static_cast<int>(found - positions_.begin());
  }

  // The rules for tensor `t` of the operator, or the level's general ones for -1.
  TensorRules RulesFor(int t, std::string field) const {
    TensorRules rules = {.field = std::move(field), .name = "", .level = level_};
    rules.max_dimension_count = MaxDimensionCount(level_);
    if (t < 0) return rules;
    rules.name = op_->tensor(t).name;
    rules.is_output = t == op_->input_count();
    if (support_ == nullptr) return rules;
    rules.min_dimension_count = support_->min_dimension_count;
    rules.max_dimension_count = support_->max_dimension_count;
    rules.types = support_->types[t];
    return rules;
  }

  void CheckInputs() {
    checks_.resize(request_.inputs.size());
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      if (!request_.inputs[i].is_known) continue;
      checks_[i] = CheckTensor(request_.inputs[i], RulesFor(InputAt(i), InputField(i)), limits_,
                               violations_);
    }
  }

  void CheckPayloads() {
    if (request_.payload_bytes.size() != request_.inputs.size()) {
      violations_.Add("payloads", "The number of payloads (", request_.payload_bytes.size(),
                      ") differs from the number of inputs (", request_.inputs.size(), ").");
    }
    const size_t pairs = std::min(request_.payload_bytes.size(), checks_.size());
    for (size_t i = 0; i < pairs; ++i) {
      if (!checks_[i].desc) continue;
      const uint64_t exact = *ExactSizeInBytes(*checks_[i].desc);
      const uint64_t given = request_.payload_bytes[i];
      if (IsFittingSize(given, exact)) continue;
      violations_.Add(PayloadField(i), "The payload has ", given,
                      " bytes, but its descriptor needs ", FittingSizes(exact), ".");
    }
  }

  std::string PayloadField(size_t i) const {
    return i < request_.payload_fields.size() ? request_.payload_fields[i]
                                              : absl::StrCat("payloads[", i, "]");
  }

  void CheckTensorsTogether() {
    CheckSameSizes();
    CheckSameTypes();
    CheckOutput();
    CheckScaleBias();
    CheckScalarType();
    CheckEffectiveRank();
    CheckAxes();
  }

  // Scalars are values of the tensors' type.
  void CheckScalarType() {
    const int lane = op_->lane_tensor();
    if (lane == op_->input_count()) return;
    const std::optional<size_t>& position = positions_[lane];
    if (!position || !checks_[*position].type) return;
    for (size_t a = 0; a < op_->attributes.size(); ++a) {
      if (op_->attributes[a].kind != AttributeKind::kDataType) continue;
      const auto given = static_cast<DataType>(invocation_.attributes[a]);
      const DataType type = *checks_[*position].type;
      if (given == DataType::kUnknown || given == type) continue;
      violations_.Add("attributes", "The data type ", NameOf(given), " of ",
                      op_->attributes[a].name, " differs from the data type ", NameOf(type), " of ",
                      op_->inputs[lane].name, "; they must be equal.");
    }
  }

  // What the inputs do not tell by themselves. All tensors have the sizes of one.
  void CheckEffectiveRank() {
    const std::optional<size_t> model = SizesModel();
    if (!model || !checks_[*model].has_good_sizes) return;
    const std::span<const uint32_t> sizes = request_.inputs[*model].sizes;
    const auto first =
        std::find_if(sizes.begin(), sizes.end(), [](uint32_t size) { return size != 1; });
    const auto rank = sizes.end() - first;
    if (rank <= op_->max_effective_rank) return;
    violations_.Add(absl::StrCat(InputField(*model), ".sizes"), "The sizes ", SizesText(sizes),
                    " of ", op_->inputs[InputAt(*model)].name, " have ", rank,
                    " dimensions behind leading sizes of 1; allowed: at most ",
                    int{op_->max_effective_rank}, ".");
  }

  // Dimensions that an attribute names must be there.
  void CheckAxes() {
    const int attribute = op_->axes_attribute();
    const std::optional<size_t> model = SizesModel();
    if (attribute < 0 || !model || !checks_[*model].has_good_sizes) return;
    const size_t rank = request_.inputs[*model].sizes.size();
    const uint64_t beyond = invocation_.attributes[attribute] >> rank;
    if (beyond == 0) return;
    const absl::string_view name = op_->attributes[attribute].name;
    const auto given =
        std::find_if(request_.attributes.begin(), request_.attributes.end(),
                     [name](const AttributeView& candidate) { return candidate.name == name; });
    violations_.Add(absl::StrCat("attributes[", given - request_.attributes.begin(), "].value"),
                    "The value ", rank + static_cast<size_t>(std::countr_zero(beyond)), " of ",
                    name, " is not a dimension of ", op_->inputs[InputAt(*model)].name,
                    "; allowed: 0 to ", rank - 1, ".");
  }

  // Elements of 64 bits have more digits than DirectML's FLOATs can scale.
  void CheckScaleBias() {
    const std::optional<size_t>& position = positions_[0];
    if (!invocation_.scale_bias || !position || !checks_[*position].type) return;
    const DataType type = *checks_[*position].type;
    if (SizeOf(type) < 8) return;
    violations_.Add("attributes", kScaleAttribute, " and ", kBiasAttribute,
                    " are not allowed for the data type ", NameOf(type), " of ",
                    op_->inputs[0].name, "; allowed are types of fewer than 64 bits.");
  }

  // The sizes that all tensors must have but those of one element: the first input's that is
  // present.
  std::optional<size_t> SizesModel() const {
    for (int i = 0; i < op_->input_count(); ++i) {
      if (positions_[i] && !op_->inputs[i].is_single) return positions_[i];
    }
    return std::nullopt;
  }

  void CheckSameSizes() {
    const std::optional<size_t> model = SizesModel();
    if (!model) return;
    for (int i = 0; i < op_->input_count(); ++i) {
      if (!positions_[i] || *positions_[i] == *model) continue;
      const size_t at = *positions_[i];
      if (op_->inputs[i].is_single) {
        CheckIsSingle(at, op_->inputs[i].name, *model);
        continue;
      }
      CompareSizes(checks_[at], request_.inputs[at].sizes, InputField(at), op_->inputs[i].name,
                   *model);
    }
  }

  // Compares with the sizes of the input at `model`. Says nothing where one side is faulty by
  // itself, so that one mistake is reported once.
  void CompareSizes(const TensorCheck& check, std::span<const uint32_t> sizes,
                    const std::string& field, absl::string_view name, size_t model) {
    if (!check.has_good_sizes || !checks_[model].has_good_sizes) return;
    const std::span<const uint32_t> expected = request_.inputs[model].sizes;
    if (std::equal(sizes.begin(), sizes.end(), expected.begin(), expected.end())) return;
    violations_.Add(absl::StrCat(field, ".sizes"), "The sizes ", SizesText(sizes), " of ", name,
                    " differ from the sizes ", SizesText(expected), " of ",
                    op_->inputs[InputAt(model)].name,
                    "; they must be equal (use strides of 0 to broadcast).");
  }

  // Checks that the input at `at` has one element, in as many dimensions as the one at `model`.
  void CheckIsSingle(size_t at, absl::string_view name, size_t model) {
    if (!checks_[at].has_good_sizes || !checks_[model].has_good_sizes) return;
    const std::vector<uint32_t> expected(request_.inputs[model].sizes.size(), 1);
    const std::span<const uint32_t> sizes = request_.inputs[at].sizes;
    if (std::equal(sizes.begin(), sizes.end(), expected.begin(), expected.end())) return;
    violations_.Add(absl::StrCat(InputField(at), ".sizes"), "The sizes ", SizesText(sizes), " of ",
                    name, " are not those of one element in as many dimensions as ",
                    op_->inputs[InputAt(model)].name, " has; allowed: ", SizesText(expected), ".");
  }

  // The tensors of the group at the level.
  TypeGroup AtLevel(const TypeGroup& group) const {
    TypeGroup at_level = group;
    const bool is_first = &group == op_->same_data_type.begin();
    if (is_first && support_ != nullptr) at_level.tensors |= support_->same_data_type;
    return at_level;
  }

  // The first input of the group that is present: its type is that of the others.
  std::optional<size_t> TypeModel(const TypeGroup& group) const {
    for (int i = 0; i < op_->input_count(); ++i) {
      if (group.has_input(i) && positions_[i]) return positions_[i];
    }
    return std::nullopt;
  }

  void CheckSameTypes() {
    for (const TypeGroup& declared : op_->same_data_type) {
      const TypeGroup group = AtLevel(declared);
      const std::optional<size_t> model = TypeModel(group);
      if (!model) continue;
      for (int i = 0; i < op_->input_count(); ++i) {
        if (!group.has_input(i) || !positions_[i] || *positions_[i] == *model) continue;
        CompareTypes(group, checks_[*positions_[i]], InputField(*positions_[i]),
                     op_->inputs[i].name, *model);
      }
    }
  }

  void CompareTypes(const TypeGroup& group, const TensorCheck& check, const std::string& field,
                    absl::string_view name, size_t model) {
    const std::optional<DataType> given = checks_[model].type;
    if (!given || !check.type) return;
    const bool counts_as_float32 = group.integers_count_as_float32 && !IsFloat(*given);
    if (*check.type == (counts_as_float32 ? DataType::kFloat32 : *given)) return;
    violations_.Add(
        absl::StrCat(field, ".data_type"), "The data type ", NameOf(*check.type), " of ", name,
        " differs from the data type ", NameOf(*given), " of ", op_->inputs[InputAt(model)].name,
        counts_as_float32 ? "; allowed with integers: FLOAT32." : "; they must be equal.");
  }

  // Fills in what the request leaves open about the output, then checks it like any tensor. Stops
  // where sizes cannot be filled in because those of the inputs are at fault, which was reported.
  void CheckOutput() {
    TensorDescView output = request_.output.value_or(TensorDescView{});
    if (!output.name.empty() && output.name != op_->output.name) {
      violations_.Add("output.name", op_->name, " has no output ", Quoted(output.name),
                      "; its output is ", op_->output.name, ".");
    }
    const std::optional<size_t> model = SizesModel();
    if (output.sizes.empty()) {
      if (!model || !checks_[*model].has_good_sizes) return;
      output.sizes = request_.inputs[*model].sizes;
    }
    TensorRules rules = RulesFor(op_->input_count(), "output");
    if (output.data_type == 0) {
      const std::optional<DataType> type = OutputTypeByRule();
      // Where the inputs do not tell the type, sizes and strides are judged all the same.
      output.data_type = static_cast<int>(type.value_or(DataType::kUint8));
      if (!type) rules.types = {};
    }
    const TensorCheck check = CheckTensor(output, rules, limits_, violations_);
    if (check.desc) invocation_.output = *check.desc;
    if (model) CompareSizes(check, output.sizes, "output", op_->output.name, *model);
    for (const TypeGroup& group : op_->same_data_type) {
      const std::optional<size_t> type_model = TypeModel(group);
      if (!type_model || !group.has_output()) continue;
      CompareTypes(group, check, "output", op_->output.name, *type_model);
    }
  }

  std::optional<DataType> OutputTypeByRule() const {
    for (const TypeGroup& group : op_->same_data_type) {
      const std::optional<size_t> model = TypeModel(group);
      if (model && group.has_output()) return checks_[*model].type;
    }
    if (support_ == nullptr) return std::nullopt;
    // Flags, counts and what no zero point tells the type of: as small as the level has them.
    return support_->types[op_->input_count()].last();
  }

  ValidationResult Finish() {
    ValidationResult result;
    result.unknown_operator = unknown_operator_;
    const bool are_known = std::all_of(request_.inputs.begin(), request_.inputs.end(),
                                       [](const TensorDescView& input) { return input.is_known; });
    if (violations_.empty() && are_known) {
      FillInvocation();
      CheckRowLength();
      if (violations_.empty()) result.invocation = std::make_shared<const Invocation>(invocation_);
    }
    result.violations = violations_.Take();
    return result;
  }

  // Rows that are not packed are gathered into memory that nobody is charged for.
  void CheckRowLength() {
    const Plan& plan = invocation_.plan;
    if (!plan.row_begin || plan.row_length() <= kMaxGatheredRow) return;
    if (plan.has_packed_rows(0) && plan.has_packed_rows(1)) return;
    violations_.Add(InputField(*positions_[0]), "The rows have ", plan.row_length(),
                    " elements that do not lie one after the other; allowed: at most ",
                    kMaxGatheredRow, ", or packed rows of any length.");
  }

  void FillInvocation() {
    std::array<TensorDesc, kMaxTensors> tensors;
    const int input_count = op_->input_count();
    invocation_.op = op_->id;
    for (int i = 0; i < input_count; ++i) {
      invocation_.payload_index[i] = -1;
      if (!positions_[i]) continue;
      invocation_.payload_index[i] = static_cast<int>(*positions_[i]);
      invocation_.inputs[i] = *checks_[*positions_[i]].desc;
      if (op_->inputs[i].is_single) Repeat(invocation_.inputs[i], invocation_.output);
      invocation_.input_bytes[i] = *ExactSizeInBytes(invocation_.inputs[i]);
      tensors[i] = invocation_.inputs[i];
    }
    tensors[input_count] = invocation_.output;
    invocation_.lane_type = tensors[op_->lane_tensor()].data_type;
    invocation_.output_bytes = *ExactSizeInBytes(invocation_.output);
    const std::span used(tensors.data(), static_cast<size_t>(input_count + 1));
    invocation_.plan = op_->shape.is_row ? MakeRowPlan(used, RowDimensions()) : MakePlan(used);
  }

  // The dimensions in which elements of one row differ.
  uint32_t RowDimensions() const {
    const int axes = op_->axes_attribute();
    return axes < 0 ? uint32_t{1} << (invocation_.output.dimension_count - 1)
                    : static_cast<uint32_t>(invocation_.attributes[axes]);
  }

  const OperatorRequest& request_;
  const ValidationLimits& limits_;
  ViolationList violations_;
  FeatureLevel level_ = kHighestFeatureLevel;
  const OpTraits* op_ = nullptr;
  const SupportRow* support_ = nullptr;  // null where the operator came later than level_
  bool unknown_operator_ = false;
  InputPositions positions_;
  std::vector<TensorCheck> checks_;  // per tensor of the request
  Invocation invocation_;
};

}  // namespace

ValidationResult Validate(const OperatorRequest& request, const ValidationLimits& limits) {
  return Validation(request, limits).Run();
}

TensorValidation ValidateTensor(const TensorDescView& tensor, absl::string_view field,
                                const ValidationLimits& limits) {
  ViolationList violations;
  TensorRules rules;
  rules.field = std::string(field);
  TensorCheck check = CheckTensor(tensor, rules, limits, violations);
  return {check.desc, violations.Take()};
}

}  // namespace opserve
