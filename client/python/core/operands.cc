#include "client/python/core/operands.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"
#include "client/python/core/resident.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

constexpr int64_t kMaxNumber = std::numeric_limits<uint32_t>::max();

// What sends at most so many times the bytes of its elements is not copied before.
constexpr uint64_t kMostPadding = 2;

// Elements from the first to the last that the strides reach.
uint64_t Reach(const std::vector<uint32_t>& sizes, const std::vector<uint32_t>& strides) {
  uint64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += uint64_t{sizes[i] - 1} * strides[i];
  }
  return last + 1;
}

// The strides of an array in elements, or nothing where the wire has none like them, or where
// sending what lies between the elements costs more than a copy.
std::optional<std::vector<uint32_t>> WireStrides(const ArrayMemory& memory,
                                                 const std::vector<uint32_t>& sizes) {
  const auto element = static_cast<int64_t>(SizeOf(memory.data_type));
  std::vector<uint32_t> strides;
  uint64_t different = 1;
  for (size_t i = 0; i < memory.sizes.size(); ++i) {
    const int64_t bytes = memory.sizes[i] == 1 ? 0 : memory.strides[i];
    if (bytes < 0 || bytes % element != 0 || bytes / element > kMaxNumber) return std::nullopt;
    strides.push_back(static_cast<uint32_t>(bytes / element));
    if (bytes != 0) different *= sizes[i];
  }
  if (strides.empty()) strides = {1};
  if (Reach(sizes, strides) > kMostPadding * different) return std::nullopt;
  return strides;
}

Operand OperandOf(ArrayMemory memory, std::vector<uint32_t> sizes, std::vector<uint32_t> strides,
                  const Regions& regions) {
  Operand operand;
  operand.data_type = memory.data_type;
  operand.is_single = memory.sizes.empty();
  operand.bytes = {memory.data, Reach(sizes, strides) * SizeOf(memory.data_type)};
  operand.sizes = std::move(sizes);
  operand.strides = std::move(strides);
  operand.place = regions.Find(operand.bytes);
  operand.hold = std::move(memory.hold);
  return operand;
}

Operand OperandOf(nb::handle object, ArrayMemory memory, const std::string& name,
                  const Regions& regions) {
  std::vector<uint32_t> sizes = WireSizes(memory, name);
  std::optional<std::vector<uint32_t>> strides = WireStrides(memory, sizes);
  if (!strides) {
    memory = CopyPacked(object, name);
    strides = PackedStrides(sizes);
  }
  Operand operand = OperandOf(std::move(memory), std::move(sizes), *std::move(strides), regions);
  operand.object = object;
  return operand;
}

Operand OperandOf(nb::handle object, const ResidentTensor& tensor) {
  Operand operand;
  operand.data_type = tensor.spec().data_type;
  operand.sizes = tensor.spec().sizes;
  operand.strides = PackedStrides(operand.sizes);
  operand.is_single = tensor.is_single();
  operand.place = TensorPlace(tensor.handle());
  operand.object = object;
  operand.hold = HoldObject(nb::borrow(object));
  return operand;
}

Operand OperandOf(const StepValue& value) {
  Operand operand;
  operand.data_type = value.data_type;
  operand.sizes = value.sizes;
  operand.strides = PackedStrides(operand.sizes);
  operand.is_single = value.is_single;
  operand.value = value;
  return operand;
}

// The type of these inputs, as far as one of them is known.
DataType TypeAmong(const std::vector<int>& inputs,
                   const std::vector<std::optional<Operand>>& operands) {
  for (const int input : inputs) {
    const auto& operand = operands[static_cast<size_t>(input)];
    if (operand && operand->data_type != DataType::kUnknown) return operand->data_type;
  }
  return DataType::kUnknown;
}

// Floats that go with integers are FLOAT32.
DataType FloatFor(DataType type) {
  switch (type) {
    case DataType::kUnknown:
    case DataType::kFloat16:
    case DataType::kFloat32:
    case DataType::kFloat64:
      return type;
    default:
      return DataType::kFloat32;
  }
}

// A number takes the type of the inputs that have to have the same.
DataType TypeForNumber(const OperationInput& input,
                       const std::vector<std::optional<Operand>>& operands) {
  const DataType type = TypeAmong(input.same_type, operands);
  if (type != DataType::kUnknown) return type;
  const DataType float_type = FloatFor(TypeAmong(input.float_of, operands));
  if (float_type != DataType::kUnknown) return float_type;
  throw BadArguments(input.argument,
                     "a number whose type no array of the call says; give it one, such as "
                     "numpy.float32(0.5)");
}

// Repeats an operand to the sizes of the call. One element has as many dimensions as the others;
// where it is not one, the server says so.
void SetView(const OperationInput& input, const std::vector<uint32_t>& target, Operand& operand) {
  operand.view_sizes = target;
  if (input.is_one_element) {
    const bool is_one = std::ranges::all_of(operand.sizes, [](uint32_t size) { return size == 1; });
    operand.view_sizes = is_one ? std::vector<uint32_t>(target.size(), 1) : operand.sizes;
  }
  operand.view_strides = BroadcastStrides(operand.sizes, operand.strides, operand.view_sizes);
}

// All arrays first, then the numbers, whose types the arrays say.
std::vector<std::optional<Operand>> Collect(const Operation& operation, const nb::tuple& inputs,
                                            const Regions& regions) {
  std::vector<std::optional<Operand>> operands(operation.inputs.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const nb::handle input = inputs[i];
    if (input.is_none() || IsPlainNumber(input)) continue;
    operands[i] = MakeOperand(input, operation.inputs[i].argument, regions);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const nb::handle input = inputs[i];
    if (!IsPlainNumber(input)) continue;
    ArrayMemory memory =
        NumberAs(input, TypeForNumber(operation.inputs[i], operands), operation.inputs[i].argument);
    operands[i] = OperandOf(std::move(memory), {1}, {1}, regions);
  }
  return operands;
}

}  // namespace

TensorView Operand::View() const {
  TensorSpec spec = {data_type, view_sizes, view_strides};
  TensorView view =
      place ? TensorView::At(*place, std::move(spec)) : TensorView(std::move(spec), bytes);
  view.set_name(view_name);
  return view;
}

std::vector<uint32_t> BroadcastSizes(const std::vector<NamedSizes>& shapes) {
  size_t rank = 1;
  for (const NamedSizes& shape : shapes) rank = std::max(rank, shape.sizes.size());
  std::vector<uint32_t> target(rank, 1);
  bool fits = true;
  for (const NamedSizes& shape : shapes) {
    const size_t leading = rank - shape.sizes.size();
    for (size_t i = 0; i < shape.sizes.size(); ++i) {
      const uint32_t size = shape.sizes[i];
      if (target[leading + i] == 1) target[leading + i] = size;
      fits = fits && (size == 1 || size == target[leading + i]);
    }
  }
  if (fits) return target;
  std::vector<FieldViolation> violations;
  for (const NamedSizes& shape : shapes) {
    violations.push_back({shape.name, absl::StrCat("shape (", absl::StrJoin(shape.sizes, ", "),
                                                   ") cannot be broadcast with the others")});
  }
  throw BadArguments(std::move(violations));
}

std::vector<uint32_t> BroadcastStrides(const std::vector<uint32_t>& sizes,
                                       const std::vector<uint32_t>& strides,
                                       const std::vector<uint32_t>& target) {
  std::vector<uint32_t> repeated(target.size(), 0);
  const size_t leading = target.size() - sizes.size();
  uint32_t packed = 1;
  bool is_packed = true;
  for (size_t i = target.size(); i-- > 0;) {
    if (i >= leading && sizes[i - leading] != 1) repeated[i] = strides[i - leading];
    is_packed = is_packed && (target[i] == 1 || repeated[i] == packed);
    packed *= target[i];
  }
  if (is_packed) return {};
  return repeated;
}

Operand MakeOperand(nb::handle object, const std::string& name, const Regions& regions) {
  if (nb::isinstance<ResidentTensor>(object)) {
    return OperandOf(object, *nb::inst_ptr<ResidentTensor>(object));
  }
  if (nb::isinstance<StepValue>(object)) return OperandOf(*nb::inst_ptr<StepValue>(object));
  return OperandOf(object, TakeMemory(object, name), name, regions);
}

std::vector<uint32_t> WireSizes(const ArrayMemory& memory, const std::string& name) {
  if (memory.sizes.empty()) return {1};
  std::vector<uint32_t> sizes;
  for (const int64_t given : memory.sizes) {
    // What a program gave as more than 63 bits looks negative here.
    const auto size = static_cast<uint64_t>(given);
    if (size > kMaxNumber) {
      throw BadArguments(name, absl::StrCat("a dimension of ", size, " elements; at most ",
                                            kMaxNumber, " can be described"));
    }
    sizes.push_back(static_cast<uint32_t>(size));
  }
  return sizes;
}

bool IsPlainNumber(nb::handle object) {
  return PyFloat_CheckExact(object.ptr()) || PyLong_CheckExact(object.ptr());
}

OperandList MakeOperands(const Operation& operation, const nb::tuple& inputs,
                         const Regions& regions) {
  std::vector<std::optional<Operand>> operands = Collect(operation, inputs, regions);
  OperandList list;
  list.is_single = true;
  list.result_type = TypeAmong(operation.result_type, operands);
  std::vector<NamedSizes> shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i] || operation.inputs[i].is_one_element) continue;
    list.is_single = list.is_single && operands[i]->is_single;
    shapes.push_back({operation.inputs[i].argument, operands[i]->sizes});
  }
  list.sizes = BroadcastSizes(shapes);
  const bool need_names = std::ranges::any_of(operands, [](const auto& one) { return !one; });
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    Operand& operand = *operands[i];
    SetView(operation.inputs[i], list.sizes, operand);
    operand.is_in_place = operation.inputs[i].is_in_place;
    if (need_names) operand.view_name = operation.inputs[i].name;
    list.operands.push_back(std::move(operand));
  }
  if (!list.operands.empty()) list.first_type = list.operands[0].data_type;
  return list;
}

ResultTarget MakeTarget(nb::handle out, const Regions& regions) {
  if (nb::isinstance<ResidentTensor>(out)) {
    const auto& tensor = *nb::inst_ptr<ResidentTensor>(out);
    return {tensor.spec(), {}, TensorPlace(tensor.handle()), HoldObject(nb::borrow(out))};
  }
  if (!PyObject_CheckBuffer(out.ptr())) {
    throw BadArguments("out", absl::StrCat("a ", nb::str(out.type().attr("__name__")).c_str(),
                                           " is no array; a NumPy array is needed"));
  }
  ArrayMemory memory = TakeMemory(out, "out");
  if (memory.is_read_only) throw BadArguments("out", "the array is read-only");
  if (!IsPacked(memory)) {
    throw BadArguments("out",
                       "the array is not contiguous in C's order; give a contiguous one, "
                       "and copy from it");
  }
  if (memory.is_bool) {
    throw BadArguments("out", "results are never bool; flags are uint8 or uint32");
  }
  ResultTarget target;
  target.spec = {memory.data_type, WireSizes(memory, "out"), {}};
  target.bytes = {memory.data, Reach(target.spec.sizes, PackedStrides(target.spec.sizes)) *
                                   SizeOf(memory.data_type)};
  target.place = regions.Find(target.bytes);
  target.hold = std::move(memory.hold);
  return target;
}

}  // namespace opserve::python
