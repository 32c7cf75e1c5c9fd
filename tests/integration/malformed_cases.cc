#include "tests/integration/malformed_cases.h"

#include <cstddef>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/integration/malformed_writer.h"
#include "tests/integration/requests.h"

namespace opserve::testing {
namespace {

using grpc::StatusCode;

void AddRandomBytes(std::vector<MalformedCase>& cases) {
  std::mt19937 random(20240607);
  for (size_t length = 1; length <= 40; ++length) {
    std::string bytes(length * length, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    cases.push_back({absl::StrCat(bytes.size(), " random bytes"), std::move(bytes)});
  }
}

std::string TwoByteLetters(int count) {
  std::string text = "é";
  while (text.size() < size_t{2} * count) text += text;
  text.resize(size_t{2} * count);
  return text;
}

}  // namespace

v1::ExecuteRequest GoodRequest(const OpTraits& op) {
  v1::ExecuteRequest request;
  request.set_operator_(std::string(op.name));
  for (const AttributeTraits& attribute : op.attributes) {
    if (attribute.kind == AttributeKind::kEnum) {
      AddEnum(request, std::string(attribute.name), std::string(attribute.values[0].name));
    } else if (attribute.kind == AttributeKind::kDataType) {
      AddEnum(request, std::string(attribute.name), "FLOAT32");
    } else if (attribute.kind == AttributeKind::kAxes) {
      v1::Attribute& axes = *request.add_attributes();
      axes.set_name(std::string(attribute.name));
      axes.mutable_axes()->add_values(0);
    } else {
      AddFloat(request, std::string(attribute.name), 1.5);
    }
  }
  for (int i = 0; i < op.input_count(); ++i) {
    const DataTypeSet types = op.support.back().types[i];
    const DataType type = types.contains(DataType::kFloat32) ? DataType::kFloat32 : types.first();
    const uint32_t count = op.inputs[i].is_single ? 1 : 4;
    AddInput(request, static_cast<v1::DataType>(type), {count},
             std::string(count * SizeOf(type), '\0'));
  }
  return request;
}

void CaseWriter::Add(absl::string_view name, const Change& change, std::string field,
                     StatusCode code) {
  v1::ExecuteRequest request = GoodRequest(op_);
  change(request);
  AddBytes(name, request.SerializeAsString(), std::move(field), code);
}

void CaseWriter::AddBytes(absl::string_view name, std::string bytes, std::string field,
                          StatusCode code) {
  cases_.push_back({absl::StrCat(op_.name, ": ", name), std::move(bytes), code, std::move(field)});
}

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
      {"a megabyte of two-byte letters", "x" + TwoByteLetters(1 << 19)}};
  for (const auto& [what, value] : names) {
    const std::string& text = value;
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
  if (op_.introduced() == FeatureLevel::k1_0) return;
  Add(
      "level before the operator", [](auto& r) { r.set_feature_level("1_0"); }, "operator");
}

void CaseWriter::Attributes(int count) {
  Add(
      absl::StrCat(count, " attributes"),
      [&](auto& r) {
        for (int i = 0; i < count; ++i) AddEnum(r, "A", "B");
      },
      "attributes");
}

void CaseWriter::Attributes() {
  Add(
      "unknown attribute", [](auto& r) { AddEnum(r, "Nonsense", "1"); }, "attributes[");
  Add(
      "attribute without a name", [](auto& r) { r.add_attributes()->set_int_value(0); },
      "attributes[");
  Attributes(65);
  if (op_.attributes.empty()) return;
  Add(
      "missing attribute", [](auto& r) { r.clear_attributes(); }, "attributes");
  Add(
      "attribute twice", [](auto& r) { *r.add_attributes() = r.attributes(0); },
      absl::StrCat("attributes[", op_.attributes.size(), "]"));
  Add(
      "attribute without a value", [](auto& r) { r.mutable_attributes(0)->clear_value(); },
      "attributes[0]");
  for (const char* value : {"", "either", "TOWARD", "TOWARD_ZERO ", "0", "🙂"}) {
    Add(
        absl::StrCat("attribute with \"", value, "\""),
        [&](auto& r) { r.mutable_attributes(0)->set_enum_name(value); }, "attributes[0]");
  }
  for (const int64_t axis : {int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN, int64_t{1} << 32}) {
    if (op_.axes_attribute() != 0) break;
    Add(
        absl::StrCat("axis ", axis),
        [&](auto& r) { r.mutable_attributes(0)->mutable_axes()->add_values(axis); },
        "attributes[0]");
  }
  // Any number is right for a FLOAT.
  if (!op_.has_mode()) return;
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
}

void CaseWriter::Envelope() {
  Add(
      "id of 129 bytes", [](auto& r) { r.set_request_id(std::string(129, 'x')); }, "request_id");
  for (const int device : {-1, 4, std::numeric_limits<int>::max()}) {
    Add(
        absl::StrCat("device ", device),
        [&](auto& r) { r.set_device(static_cast<v1::DevicePreference>(device)); }, "device");
  }
  Add(
      "a GPU", [](auto& r) { r.set_device(v1::DEVICE_PREFERENCE_GPU); }, "*",
      StatusCode::FAILED_PRECONDITION);
}

void CaseWriter::Floods() {
  Attributes(10'000);
  Rank(100'000);
  PayloadsMore(100'000);
  SurplusInputs(10'000);
  Add(
      "level of a megabyte", [](auto& r) { r.set_feature_level(std::string(1 << 20, '6')); },
      "feature_level");
  Add(
      "id of a megabyte", [](auto& r) { r.set_request_id(std::string(1 << 20, 'x')); },
      "request_id");
  Add(
      "message above the limit",
      [](auto& r) { r.set_request_id(std::string(kMalformedMaxMessageBytes, 'x')); }, "*",
      StatusCode::RESOURCE_EXHAUSTED);
}

std::vector<MalformedCase> MalformedCases() {
  std::vector<MalformedCase> cases;
  AddRandomBytes(cases);
  for (const OpTraits& op : OpTable()) {
    CaseWriter writer(op, cases);
    // What does not depend on the operator, and large twins of what is sent for each.
    if (&op == &OpTable().front()) {
      writer.Names();
      writer.Floods();
      writer.Envelope();
    }
    writer.WireGarbage();
    writer.Levels();
    writer.Attributes();
    writer.Ranks();
    writer.Sizes();
    writer.Strides();
    writer.DataTypes();
    writer.Payloads();
    writer.TensorNames();
    writer.Outputs();
  }
  return cases;
}

}  // namespace opserve::testing
