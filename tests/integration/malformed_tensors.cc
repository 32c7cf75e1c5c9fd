// Broken descriptors, payloads and outputs.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/malformed_writer.h"

namespace opserve::testing {
namespace {

using grpc::StatusCode;

constexpr uint32_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

void SetSizes(v1::TensorDesc& desc, const std::vector<uint32_t>& sizes) {
  desc.mutable_sizes()->Assign(sizes.begin(), sizes.end());
}

void SetStrides(v1::TensorDesc& desc, const std::vector<uint32_t>& strides) {
  desc.mutable_strides()->Assign(strides.begin(), strides.end());
}

}  // namespace

void CaseWriter::Rank(int rank) {
  Add(
      absl::StrCat("rank ", rank),
      [&](auto& r) { r.mutable_inputs(0)->mutable_sizes()->Resize(rank, 1); }, "inputs[0].sizes");
}

void CaseWriter::Ranks() {
  for (const int rank : {0, 9, 64}) Rank(rank);
  Add(
      "rank of another input",
      [](auto& r) {
        SetSizes(*r.mutable_inputs(0), {2, 2});
      },
      op_.input_count() > 1 ? "inputs[1].sizes" : "*",
      op_.input_count() > 1 ? StatusCode::INVALID_ARGUMENT : StatusCode::OK);
  if (op_.support[0].min_dimension_count == 1) return;
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
  if (op_.lane_types().contains(DataType::kFloat64) && op_.lane_tensor() == 0) return;
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
    // A single byte has two of them in common.
    for (const size_t length :
         std::set<size_t>{size_t{0}, exact - 1, exact + 1, exact + 4, 10 * exact}) {
      Add(
          absl::StrCat("payload ", i, " of ", length, " bytes"),
          [&](auto& r) { r.set_payloads(i, std::string(length, '\x7f')); },
          absl::StrCat("payloads[", i, "]"));
    }
  }
  Add(
      "no payloads", [](auto& r) { r.clear_payloads(); }, "payloads");
  for (const int count : {1, 64}) PayloadsMore(count);
}

void CaseWriter::PayloadsMore(int count) {
  Add(
      absl::StrCat(count, " payloads more"),
      [&](auto& r) {
        for (int i = 0; i < count; ++i) r.add_payloads();
      },
      "payloads");
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
  for (const int count : {1, 61}) SurplusInputs(count);
}

void CaseWriter::SurplusInputs(int count) {
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
      [this](auto& r) {
        for (int i = 0; i < r.inputs_size(); ++i) {
          if (op_.inputs[i].is_single) {
            SetSizes(*r.mutable_inputs(i), {1, 1});
            continue;
          }
          SetSizes(*r.mutable_inputs(i),
                   {static_cast<uint32_t>(kMalformedMaxMessageBytes) / 1024, 1024});
          SetStrides(*r.mutable_inputs(i), {0, 0});
          r.set_payloads(i, r.payloads(i).substr(0, r.payloads(i).size() / 4));
        }
      },
      "*", StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace opserve::testing
