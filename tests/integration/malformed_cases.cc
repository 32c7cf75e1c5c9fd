#include "tests/integration/malformed_cases.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/op_table.h"
#include "tests/integration/requests.h"

namespace opserve::testing {
namespace {

using grpc::StatusCode;

constexpr uint32_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

// A good request of `op`: vectors of four elements.
v1::ExecuteRequest GoodRequest(const OpTraits& op) {
  v1::ExecuteRequest request;
  request.set_operator_(std::string(op.name));
  for (const AttributeTraits& attribute : op.attributes) {
    AddEnum(request, std::string(attribute.name), std::string(attribute.values[0].name));
  }
  for (int i = 0; i < op.input_count(); ++i) {
    const DataTypeSet types = op.support.back().types[i];
    const DataType type = types.contains(DataType::kFloat32) ? DataType::kFloat32 : types.first();
    AddInput(request, static_cast<v1::DataType>(type), {4}, std::string(4 * SizeOf(type), '\0'));
  }
  return request;
}

void SetSizes(v1::TensorDesc& desc, const std::vector<uint32_t>& sizes) {
  desc.mutable_sizes()->Assign(sizes.begin(), sizes.end());
}

void SetStrides(v1::TensorDesc& desc, const std::vector<uint32_t>& strides) {
  desc.mutable_strides()->Assign(strides.begin(), strides.end());
}

// Collects cases of one operator.
class CaseWriter {
 public:
  using Change = std::function<void(v1::ExecuteRequest&)>;

  CaseWriter(const OpTraits& op, std::vector<MalformedCase>& cases) : op_(op), cases_(cases) {}

  void WireGarbage();
  void Names();
  void Levels();
  void Attributes();
  void Ranks();
  void Sizes();
  void Strides();
  void DataTypes();
  void Payloads();
  void TensorNames();
  void Outputs();
  void Envelope();

 private:
  void Add(absl::string_view name, const Change& change, std::string field,
           StatusCode code = StatusCode::INVALID_ARGUMENT) {
    v1::ExecuteRequest request = GoodRequest(op_);
    change(request);
    AddBytes(name, request.SerializeAsString(), std::move(field), code);
  }

  void AddBytes(absl::string_view name, std::string bytes, std::string field,
                StatusCode code = StatusCode::INVALID_ARGUMENT) {
    cases_.push_back(
        {absl::StrCat(op_.name, ": ", name), std::move(bytes), code, std::move(field)});
  }

  const OpTraits& op_;
  std::vector<MalformedCase>& cases_;
};

void CaseWriter::WireGarbage() {
  const std::string good = GoodRequest(op_).SerializeAsString();
  for (size_t length = 0; length < good.size(); length += 5) {
    AddBytes(absl::StrCat("first ", length, " bytes"), good.substr(0, length), "*");
  }
  AddBytes("unterminated varint", good + "\x38\xff", "");
  AddBytes("varint of eleven bytes", good + "\x38" + std::string(11, '\xff'), "");
  AddBytes("field number 0", good + std::string("\x00\x01", 2), "");
  AddBytes("reserved wire type", good + "\x3f", "");
  AddBytes("length beyond the end", good + "\x0a\x7f", "");
  AddBytes("length of 2 GiB", good + "\x0a\xff\xff\xff\xff\x07", "");
  AddBytes("group without end", good + "\x93\x03", "");
  AddBytes("end without group", good + "\x94\x03", "");
  AddBytes("tensor cut short", good + "\x2a\x02\x10", "");
  AddBytes("sizes cut short", good + "\x2a\x03\x1a\x05\x01", "");
  AddBytes("operator that is no UTF-8", good + "\x0a\x02\xc3\x28", "");
  AddBytes("id that is no UTF-8", good + "\x12\x01\xff", "");
  AddBytes("level that is no UTF-8", good + "\x1a\x01\x80", "");
  AddBytes("unknown field", good + "\xa2\x06\x01x", "*", StatusCode::OK);
  AddBytes("known field of another wire type", good + "\x3d\x01\x02\x03\x04", "*", StatusCode::OK);
}

void CaseWriter::Names() {
  const std::string name(op_.name);
  const std::pair<const char*, std::string> names[] = {
      {"lower case", "element_wise_round"},
      {"space before", " " + name},
      {"space after", name + " "},
      {"with prefix", "DML_OPERATOR_" + name},
      {"zero byte", name + std::string(1, '\0')},
      {"letters from elsewhere", "ОПЕРАТОР_算子_🧮"},
      {"a path", "../../../etc/passwd"},
      {"line breaks", "A\r\nB"},
      {"a megabyte", std::string(1 << 20, 'A')},
      {"a megabyte of two-byte letters", [] {
         std::string text;
         for (int i = 0; i < (1 << 19); ++i) text += "é";
         return "x" + text;
       }()}};
  for (const auto& [what, text] : names) {
    Add(
        absl::StrCat("operator with ", what), [&](auto& r) { r.set_operator_(text); }, "operator",
        StatusCode::NOT_FOUND);
  }
  Add(
      "no operator", [](auto& r) { r.clear_operator_(); }, "operator");
  Add(
      "operator unknown, level too",
      [](auto& r) {
        r.set_operator_("FOO");
        r.set_feature_level("bar");
      },
      "operator");
}

void CaseWriter::Levels() {
  for (const char* level : {"7_0", "6_5", "0_0", "-1", "6_4_0", "latest", "6,4", " 6_4", "６_４"}) {
    Add(
        absl::StrCat("level ", level), [&](auto& r) { r.set_feature_level(level); },
        "feature_level");
  }
  Add(
      "level of a megabyte", [](auto& r) { r.set_feature_level(std::string(1 << 20, '6')); },
      "feature_level");
  Add(
      "level before the operator", [](auto& r) { r.set_feature_level("1_0"); }, "operator");
}

void CaseWriter::Attributes() {
  Add(
      "unknown attribute", [](auto& r) { AddEnum(r, "Nonsense", "1"); }, "attributes[");
  Add(
      "attribute without a name", [](auto& r) { r.add_attributes()->set_int_value(0); },
      "attributes[");
  for (const int count : {65, 10'000}) {
    Add(
        absl::StrCat(count, " attributes"),
        [&](auto& r) {
          for (int i = 0; i < count; ++i) AddEnum(r, "A", "B");
        },
        "attributes");
  }
  if (op_.attributes.empty()) return;
  Add(
      "missing attribute", [](auto& r) { r.clear_attributes(); }, "attributes");
  Add(
      "attribute twice", [](auto& r) { *r.add_attributes() = r.attributes(0); }, "attributes[1]");
  Add(
      "attribute without a value", [](auto& r) { r.mutable_attributes(0)->clear_value(); },
      "attributes[0]");
  for (const int64_t value : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN, int64_t{1} << 32}) {
    Add(
        absl::StrCat("attribute with ", value),
        [&](auto& r) { r.mutable_attributes(0)->set_int_value(value); }, "attributes[0]");
  }
  for (const double value : {0.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    Add(
        absl::StrCat("attribute with a number ", value),
        [&](auto& r) { r.mutable_attributes(0)->set_float_value(value); }, "attributes[0]");
  }
  for (const char* value : {"", "either", "TOWARD", "TOWARD_ZERO ", "0", "🙂"}) {
    Add(
        absl::StrCat("attribute with \"", value, "\""),
        [&](auto& r) { r.mutable_attributes(0)->set_enum_name(value); }, "attributes[0]");
  }
}

void CaseWriter::Ranks() {
  for (const int rank : {0, 9, 64, 100'000}) {
    Add(
        absl::StrCat("rank ", rank),
        [&](auto& r) { r.mutable_inputs(0)->mutable_sizes()->Resize(rank, 1); }, "inputs[0].sizes");
  }
  Add(
      "rank of another input",
      [](auto& r) {
        SetSizes(*r.mutable_inputs(0), {2, 2});
      },
      op_.input_count() > 1 ? "inputs[1].sizes" : "*",
      op_.input_count() > 1 ? StatusCode::INVALID_ARGUMENT : StatusCode::OK);
  Add(
      "rank 1 where a level asks for 4",
      [this](auto& r) { r.set_feature_level(NameOf(op_.introduced())); }, "inputs[0].sizes");
}

void CaseWriter::Sizes() {
  for (size_t position = 0; position < 8; ++position) {
    std::vector<uint32_t> sizes(8, 1);
    sizes[position] = 0;
    Add(
        absl::StrCat("size of zero at ", position),
        [&](auto& r) { SetSizes(*r.mutable_inputs(0), sizes); },
        absl::StrCat("inputs[0].sizes[", position, "]"));
  }
  const std::vector<uint32_t> too_many[] = {{kMaxUint32},
                                            {65536, 65536},
                                            {kMaxUint32, kMaxUint32},
                                            {1u << 31, 2},
                                            std::vector<uint32_t>(8, kMaxUint32)};
  for (const std::vector<uint32_t>& sizes : too_many) {
    Add(
        absl::StrCat("sizes ", sizes[0], " to the power ", sizes.size()),
        [&](auto& r) {
          for (auto& input : *r.mutable_inputs()) SetSizes(input, sizes);
        },
        "*");
  }
}

void CaseWriter::Strides() {
  for (const size_t count : {2, 8, 9, 1000}) {
    Add(
        absl::StrCat(count, " strides of one dimension"),
        [&](auto& r) { SetStrides(*r.mutable_inputs(0), std::vector<uint32_t>(count, 1)); },
        "inputs[0].strides");
  }
  for (const uint32_t stride : {2u, 1u << 30, kMaxUint32}) {
    Add(
        absl::StrCat("stride ", stride, " beyond the payload"),
        [&](auto& r) { SetStrides(*r.mutable_inputs(0), {stride}); }, "*");
  }
  Add(
      "strides that overflow 64 bits",
      [](auto& r) {
        SetSizes(*r.mutable_inputs(0), std::vector<uint32_t>(8, kMaxUint32));
        SetStrides(*r.mutable_inputs(0), std::vector<uint32_t>(8, kMaxUint32));
      },
      "inputs[0]");
}

void CaseWriter::DataTypes() {
  for (int i = 0; i < op_.input_count(); ++i) {
    for (const int type : {0, 12, 255, -1, std::numeric_limits<int>::max()}) {
      Add(
          absl::StrCat("type ", type, " of input ", i),
          [&](auto& r) { r.mutable_inputs(i)->set_data_type(static_cast<v1::DataType>(type)); },
          absl::StrCat("inputs[", i, "].data_type"));
    }
  }
  Add(
      "type of a mask where numbers belong, and the other way round",
      [](auto& r) {
        const bool mask = r.inputs(0).data_type() == v1::DATA_TYPE_UINT8;
        const auto type = mask ? v1::DATA_TYPE_INT8 : v1::DATA_TYPE_FLOAT64;
        r.mutable_inputs(0)->set_data_type(type);
        r.set_payloads(0, std::string(mask ? 4 : 32, '\0'));
      },
      "inputs[0].data_type");
}

void CaseWriter::Payloads() {
  for (int i = 0; i < op_.input_count(); ++i) {
    const size_t exact = GoodRequest(op_).payloads(i).size();
    for (const size_t length : {size_t{0}, exact - 1, exact + 1, exact + 4, 10 * exact}) {
      Add(
          absl::StrCat("payload ", i, " of ", length, " bytes"),
          [&](auto& r) { r.set_payloads(i, std::string(length, '\x7f')); },
          absl::StrCat("payloads[", i, "]"));
    }
  }
  Add(
      "no payloads", [](auto& r) { r.clear_payloads(); }, "payloads");
  for (const int count : {1, 64, 100'000}) {
    Add(
        absl::StrCat(count, " payloads more"),
        [&](auto& r) {
          for (int i = 0; i < count; ++i) r.add_payloads();
        },
        "payloads");
  }
}

void CaseWriter::TensorNames() {
  Add(
      "unknown tensor name", [](auto& r) { r.mutable_inputs(0)->set_name("Nonsense"); }, "inputs");
  Add(
      "name of the output", [](auto& r) { r.mutable_inputs(0)->set_name("OutputTensor"); },
      "inputs");
  Add(
      "all tensors of one name",
      [this](auto& r) {
        r.add_inputs()->CopyFrom(r.inputs(0));
        r.add_payloads(r.payloads(0));
        for (auto& input : *r.mutable_inputs()) input.set_name(std::string(op_.inputs[0].name));
      },
      "inputs[1].name");
  Add(
      "no inputs",
      [](auto& r) {
        r.clear_inputs();
        r.clear_payloads();
      },
      "inputs");
  for (const int count : {1, 61, 10'000}) {
    Add(
        absl::StrCat(count, " surplus inputs"),
        [&](auto& r) {
          const v1::TensorDesc last = r.inputs(r.inputs_size() - 1);
          const std::string payload = r.payloads(r.payloads_size() - 1);
          for (int i = 0; i < count; ++i) {
            *r.add_inputs() = last;
            r.add_payloads(payload);
          }
        },
        "inputs");
  }
}

void CaseWriter::Outputs() {
  const auto output = [this](absl::string_view name, const std::vector<uint32_t>& sizes,
                             const std::vector<uint32_t>& strides, std::string field) {
    Add(
        absl::StrCat("output with ", name),
        [&](auto& r) {
          SetSizes(*r.mutable_output(), sizes);
          SetStrides(*r.mutable_output(), strides);
        },
        std::move(field));
  };
  output("other sizes", {5}, {}, "output.sizes");
  output("another rank", {2, 2}, {}, "output.sizes");
  output("rank 9", std::vector<uint32_t>(9, 1), {}, "output.sizes");
  output("a size of zero", {0}, {}, "output.sizes[0]");
  output("a stride of zero", {4}, {0}, "output");
  output("two strides", {4}, {1, 1}, "output.strides");
  output("a vast stride", {4}, {kMaxUint32}, "output");
  for (const int type : {12, -1, 9}) {
    if (op_.support.back().types[op_.input_count()].contains(DataType::kFloat64) && type == 9) {
      continue;
    }
    Add(
        absl::StrCat("output of type ", type),
        [&](auto& r) { r.mutable_output()->set_data_type(static_cast<v1::DataType>(type)); },
        "output.data_type");
  }
  Add(
      "output that is not the input's name", [](auto& r) { r.mutable_output()->set_name("Input"); },
      "output.name");
  Add(
      "response above the largest message",
      [](auto& r) {
        for (int i = 0; i < r.inputs_size(); ++i) {
          SetSizes(*r.mutable_inputs(i), {static_cast<uint32_t>(kMalformedMaxMessageBytes)});
          SetStrides(*r.mutable_inputs(i), {0});
          r.set_payloads(i, r.payloads(i).substr(0, r.payloads(i).size() / 4));
        }
      },
      "*", StatusCode::RESOURCE_EXHAUSTED);
}

void CaseWriter::Envelope() {
  Add(
      "id of 129 bytes", [](auto& r) { r.set_request_id(std::string(129, 'x')); }, "request_id");
  Add(
      "id of a megabyte", [](auto& r) { r.set_request_id(std::string(1 << 20, 'x')); },
      "request_id");
  Add(
      "message above the limit",
      [](auto& r) { r.set_request_id(std::string(kMalformedMaxMessageBytes, 'x')); }, "*",
      StatusCode::RESOURCE_EXHAUSTED);
  for (const int device : {-1, 4, std::numeric_limits<int>::max()}) {
    Add(
        absl::StrCat("device ", device),
        [&](auto& r) { r.set_device(static_cast<v1::DevicePreference>(device)); }, "device");
  }
  Add(
      "a GPU", [](auto& r) { r.set_device(v1::DEVICE_PREFERENCE_GPU); }, "*",
      StatusCode::FAILED_PRECONDITION);
}

void AddRandomBytes(std::vector<MalformedCase>& cases) {
  std::mt19937 random(20240607);
  for (size_t length = 1; length <= 40; ++length) {
    std::string bytes(length * length, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    cases.push_back({absl::StrCat(bytes.size(), " random bytes"), std::move(bytes)});
  }
}

}  // namespace

std::vector<MalformedCase> MalformedCases() {
  std::vector<MalformedCase> cases;
  AddRandomBytes(cases);
  for (const OpTraits& op : OpTable()) {
    CaseWriter writer(op, cases);
    writer.WireGarbage();
    writer.Names();
    writer.Levels();
    writer.Attributes();
    writer.Ranks();
    writer.Sizes();
    writer.Strides();
    writer.DataTypes();
    writer.Payloads();
    writer.TensorNames();
    writer.Outputs();
    writer.Envelope();
  }
  return cases;
}

}  // namespace opserve::testing
