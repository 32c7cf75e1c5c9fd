#include "client/python/core/arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

constexpr char kTypes[] =
    "float64, float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8 and bool, "
    "in the processor's byte order";

// What kind of numbers a type holds: signed integers, unsigned ones, floats.
enum class Family : uint8_t { kSigned, kUnsigned, kFloat };

DataType TypeOf(Family family, size_t bytes) {
  for (const DataType type : kAllDataTypes) {
    const std::string name(NameOf(type));
    const Family its = name[0] == 'F'   ? Family::kFloat
                       : name[0] == 'U' ? Family::kUnsigned
                                        : Family::kSigned;
    if (its == family && SizeOf(type) == bytes) return type;
  }
  return DataType::kUnknown;
}

// Of Python's buffer protocol: one letter, after how it is aligned. Unknown for structures, complex
// numbers and another byte order.
DataType TypeOfFormat(std::string_view format, size_t bytes) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return DataType::kUnknown;
  if (std::string_view("efd").find(format[0]) != std::string_view::npos) {
    return TypeOf(Family::kFloat, bytes);
  }
  if (std::string_view("bhilqn").find(format[0]) != std::string_view::npos) {
    return TypeOf(Family::kSigned, bytes);
  }
  if (std::string_view("BHILQN?").find(format[0]) != std::string_view::npos) {
    return TypeOf(Family::kUnsigned, bytes);
  }
  return DataType::kUnknown;
}

DataType TypeOfDlpack(nb::dlpack::dtype type) {
  if (type.lanes != 1 || type.bits % 8 != 0) return DataType::kUnknown;
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int:
      return TypeOf(Family::kSigned, type.bits / 8);
    case nb::dlpack::dtype_code::UInt:
    case nb::dlpack::dtype_code::Bool:
      return TypeOf(Family::kUnsigned, type.bits / 8);
    case nb::dlpack::dtype_code::Float:
      return TypeOf(Family::kFloat, type.bits / 8);
    default:
      return DataType::kUnknown;
  }
}

[[noreturn]] void RefuseType(nb::handle array, const std::string& name) {
  const nb::object type = nb::getattr(array, "dtype", array.type());
  throw BadArguments(
      name, absl::StrCat("elements of type ", nb::str(type).c_str(), "; opserve has ", kTypes));
}

// Of a buffer that has none of its own, since its elements are packed.
std::vector<int64_t> PackedByteStrides(const Py_buffer& buffer) {
  std::vector<int64_t> strides(static_cast<size_t>(buffer.ndim));
  int64_t stride = buffer.itemsize;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= buffer.shape[i];
  }
  return strides;
}

// Whether it is a date or a time of NumPy's, which a single one shows as 8 bytes.
bool IsTime(nb::handle array) {
  const nb::object kind = nb::getattr(nb::getattr(array, "dtype", nb::none()), "kind", nb::none());
  return kind.equal(nb::str("m")) || kind.equal(nb::str("M"));
}

ArrayMemory TakeBuffer(nb::handle array, const std::string& name) {
  auto* const buffer = new Py_buffer();
  if (PyObject_GetBuffer(array.ptr(), buffer, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    delete buffer;
    // NumPy's words for types that the protocol does not have.
    PyErr_Clear();
    RefuseType(array, name);
  }
  ArrayMemory memory;
  memory.hold = Hold(buffer, [](void* held) {
    auto* const taken = static_cast<Py_buffer*>(held);
    PyBuffer_Release(taken);
    delete taken;
  });
  const std::string_view format = buffer->format == nullptr ? "B" : buffer->format;
  memory.data = static_cast<std::byte*>(buffer->buf);
  memory.data_type = TypeOfFormat(format, static_cast<size_t>(buffer->itemsize));
  memory.is_bool = format.ends_with('?');
  memory.is_read_only = buffer->readonly != 0;
  memory.sizes.assign(buffer->shape, buffer->shape + buffer->ndim);
  if (buffer->strides != nullptr) {
    memory.strides.assign(buffer->strides, buffer->strides + buffer->ndim);
  } else {
    memory.strides = PackedByteStrides(*buffer);
  }
  if (memory.data_type == DataType::kUnknown) RefuseType(array, name);
  if (memory.data_type == DataType::kUint8 && IsTime(array)) RefuseType(array, name);
  return memory;
}

ArrayMemory TakeDlpack(nb::handle array, const std::string& name) {
  nb::ndarray<nb::ro> tensor;
  if (!nb::try_cast(array, tensor)) {
    throw BadArguments(name, "its __dlpack__ gives no tensor that can be read");
  }
  if (tensor.device_type() != nb::device::cpu::value) {
    throw BadArguments(name, absl::StrCat("memory of another device (DLPack's number ",
                                          tensor.device_type(), "); copy it to the host first"));
  }
  ArrayMemory memory;
  memory.data_type = TypeOfDlpack(tensor.dtype());
  if (memory.data_type == DataType::kUnknown) RefuseType(array, name);
  memory.is_bool = tensor.dtype().code == static_cast<uint8_t>(nb::dlpack::dtype_code::Bool);
  memory.is_read_only = true;
  memory.data = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
  for (size_t i = 0; i < tensor.ndim(); ++i) {
    memory.sizes.push_back(static_cast<int64_t>(tensor.shape(i)));
    memory.strides.push_back(tensor.stride(i) * static_cast<int64_t>(SizeOf(memory.data_type)));
  }
  memory.hold = std::make_shared<nb::ndarray<nb::ro>>(std::move(tensor));
  return memory;
}

nb::object Numpy() { return nb::module_::import_("numpy"); }

// What every result needs, looked up once. Never given up, as the modules of Python that it is of.
struct NumpyObjects {
  nb::object array;                                   // numpy.ndarray
  std::array<nb::object, kDataTypeCount> data_types;  // numpy.dtype of each
};

NumpyObjects* MakeNumpyTypes() {
  const nb::object numpy = Numpy();
  auto* const made = new NumpyObjects{numpy.attr("ndarray"), {}};
  for (const DataType type : kAllDataTypes) {
    std::string name(NameOf(type));
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    made->data_types[static_cast<size_t>(type)] = numpy.attr("dtype")(name);
  }
  return made;
}

const NumpyObjects& NumpyTypes() {
  static const NumpyObjects* const types = MakeNumpyTypes();
  return *types;
}

// The least number that rounds to infinity.
double FirstInfinite(DataType data_type) {
  switch (data_type) {
    case DataType::kFloat16:
      return 65520;
    case DataType::kFloat32:
      return 0x1.ffffffp127;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

// Whether a float type has a number near this one: of finite ones a finite one.
bool IsFinitelyRounded(nb::handle number, DataType data_type) {
  const double value = PyFloat_AsDouble(number.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return !std::isfinite(value) || std::abs(value) < FirstInfinite(data_type);
}

// A number as an integer, whose casts to other types of integers NumPy does not warn of.
nb::object Truncated(nb::handle number) {
  if (!PyFloat_CheckExact(number.ptr())) return nb::borrow(number);
  nb::object integer = nb::steal(PyLong_FromDouble(PyFloat_AS_DOUBLE(number.ptr())));
  if (!integer.is_valid()) throw nb::python_error();
  return integer;
}

nb::object CastNumber(nb::handle number, DataType data_type) {
  return Numpy().attr("asarray")(number).attr("astype")(DtypeOf(data_type));
}

// Memory that arrays of NumPy's are made upon; they keep it.
struct ResultMemory {
  std::byte* data;
  size_t size;
  Hold hold;
};

// A function of Python's buffer protocol.
int GiveBuffer(PyObject* self, Py_buffer* buffer, int flags) {
  const auto* const memory = nb::inst_ptr<ResultMemory>(self);
  return PyBuffer_FillInfo(buffer, self, memory->data, static_cast<Py_ssize_t>(memory->size),
                           /*readonly=*/0, flags);
}

}  // namespace

ArrayMemory TakeMemory(nb::handle array, const std::string& name) {
  if (PyObject_CheckBuffer(array.ptr())) return TakeBuffer(array, name);
  if (nb::hasattr(array, "__dlpack__")) return TakeDlpack(array, name);
  if (array.is_none()) throw BadArguments(name, "None is no array");
  const nb::object made = Numpy().attr("asarray")(array);
  return TakeBuffer(made, name);
}

bool IsPacked(const ArrayMemory& memory) {
  auto expected = static_cast<int64_t>(SizeOf(memory.data_type));
  for (size_t i = memory.sizes.size(); i-- > 0;) {
    if (memory.sizes[i] != 1 && memory.strides[i] != expected) return false;
    expected *= memory.sizes[i];
  }
  return true;
}

ArrayMemory CopyPacked(nb::handle array, const std::string& name) {
  const nb::object numpy = Numpy();
  const bool is_dlpack = !PyObject_CheckBuffer(array.ptr()) && nb::hasattr(array, "__dlpack__");
  const nb::object source = numpy.attr(is_dlpack ? "from_dlpack" : "asarray")(array);
  return TakeBuffer(numpy.attr("array")(source, nb::arg("order") = "C", nb::arg("copy") = true),
                    name);
}

ArrayMemory NumberAs(nb::handle number, DataType data_type, const std::string& name) {
  nb::object array;
  bool is_there = false;
  try {
    // Of integers every number has to be there; floats round.
    if (NameOf(data_type)[0] == 'F') {
      is_there = IsFinitelyRounded(number, data_type);
      if (is_there) array = CastNumber(number, data_type);
    } else {
      array = CastNumber(Truncated(number), data_type);
      is_there = array.attr("item")().equal(number);
    }
  } catch (const nb::python_error&) {
    is_there = false;
  }
  if (!is_there) {
    throw BadArguments(name, absl::StrCat("the number ", nb::repr(number).c_str(), " is none of ",
                                          NameOf(data_type)));
  }
  return TakeBuffer(array, name);
}

void BindResultMemory(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GiveBuffer)},
                                {0, nullptr}};
  nb::class_<ResultMemory>(module, "ResultMemory", nb::type_slots(slots));
}

nb::object AsArray(std::byte* data, DataType data_type, const std::vector<size_t>& sizes,
                   Hold hold) {
  size_t bytes = SizeOf(data_type);
  nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; i < sizes.size(); ++i) {
    bytes *= sizes[i];
    PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromSize_t(sizes[i]));
  }
  return NumpyTypes().array(shape, DtypeOf(data_type),
                            nb::cast(ResultMemory{data, bytes, std::move(hold)}));
}

nb::object AsArray(Tensor tensor, bool is_single) {
  std::vector<size_t> sizes;
  if (!is_single) sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  // The memory is a buffer of the client's that nobody else knows.
  auto* const data = const_cast<std::byte*>(tensor.bytes().data());
  const DataType data_type = tensor.data_type();
  return AsArray(data, data_type, sizes,
                 SharedUnlessForked(std::make_unique<Tensor>(std::move(tensor))));
}

DataType DataTypeOf(nb::handle dtype, const std::string& name) {
  if (nb::isinstance<nb::str>(dtype)) {
    const auto type = DataTypeFromName(nb::cast<std::string>(dtype));
    if (type) return *type;
  }
  nb::object wanted;
  try {
    wanted = Numpy().attr("dtype")(dtype);
  } catch (const nb::python_error&) {
    throw BadArguments(name, absl::StrCat(nb::repr(dtype).c_str(), " is no element type"));
  }
  const auto type = DataTypeFromName(nb::cast<std::string>(wanted.attr("name")));
  if (!type || !nb::cast<bool>(wanted.attr("isnative"))) {
    throw BadArguments(name, absl::StrCat(nb::str(wanted).c_str(),
                                          " is no element type; opserve "
                                          "has ",
                                          kTypes));
  }
  return *type;
}

nb::object DtypeOf(DataType data_type) {
  return NumpyTypes().data_types[static_cast<size_t>(data_type)];
}

}  // namespace opserve::python
