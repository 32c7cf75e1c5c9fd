// File: tests/testing/request_builder.h
//
// Builds operator requests for tests. Owns everything that the views of an OperatorRequest refer
// to.

#ifndef OPSERVE_TESTS_TESTING_REQUEST_BUILDER_H_
#define OPSERVE_TESTS_TESTING_REQUEST_BUILDER_H_

#include <deque>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/validate.h"

namespace opserve {

// Lets GoogleTest print violations.
inline void PrintTo(const Violation& violation, std::ostream* out) {
  *out << violation.field << ": " << violation.description;
}

}  // namespace opserve

namespace opserve::testing {

// One tensor of a request under construction.
struct TestTensor {
  DataType type = DataType::kFloat32;
  std::vector<uint32_t> sizes = {};
  std::vector<uint32_t> strides = {};
  std::string name = {};
};

// A request whose payload lengths fit its descriptors unless they are set apart. Not copyable: the
// request refers to its parts.
class RequestBuilder {
 public:
  explicit RequestBuilder(std::string op) : op_(std::move(op)) { request_.operator_name = op_; }
  RequestBuilder(const RequestBuilder&) = delete;
  RequestBuilder& operator=(const RequestBuilder&) = delete;

  RequestBuilder& Level(std::string level) {
    level_ = std::move(level);
    request_.feature_level = level_;
    return *this;
  }

  RequestBuilder& Input(TestTensor tensor) {
    const TensorDescView view = Keep(std::move(tensor));
    request_.inputs.push_back(view);
    request_.payload_bytes.push_back(FittingBytes(view));
    return *this;
  }

  RequestBuilder& Output(TestTensor tensor) {
    request_.output = Keep(std::move(tensor));
    return *this;
  }

  RequestBuilder& Enum(std::string name, std::string value) {
    const absl::string_view kept_name = Keep(std::move(name));
    request_.attributes.push_back({kept_name, Keep(std::move(value))});
    return *this;
  }

  RequestBuilder& Int(std::string name, int64_t value) {
    request_.attributes.push_back({Keep(std::move(name)), value});
    return *this;
  }

  RequestBuilder& Float(std::string name, double value) {
    request_.attributes.push_back({Keep(std::move(name)), value});
    return *this;
  }

  RequestBuilder& AxesOf(std::string name, std::vector<int64_t> axes) {
    const std::span<const int64_t> kept = lists_.emplace_back(std::move(axes));
    request_.attributes.push_back({Keep(std::move(name)), kept});
    return *this;
  }

  // For faults that the calls above cannot express.
  OperatorRequest& request() { return request_; }

  ValidationResult Validate(const ValidationLimits& limits = {}) const {
    return opserve::Validate(request_, limits);
  }

 private:
  TensorDescView Keep(TestTensor tensor) {
    tensors_.push_back(std::move(tensor));
    const TestTensor& kept = tensors_.back();
    return {kept.name, static_cast<int>(kept.type), kept.sizes, kept.strides};
  }

  absl::string_view Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  // 0 where the descriptor is too broken to tell.
  static uint64_t FittingBytes(const TensorDescView& view) {
    if (view.sizes.size() > kMaxDimensionCount) return 0;
    if (!view.strides.empty() && view.strides.size() != view.sizes.size()) return 0;
    const DataType type = DataTypeFromNumber(view.data_type).value_or(DataType::kUint8);
    if (view.strides.empty()) return ElementCount(view.sizes).value_or(0) * SizeOf(type);
    return ExtentInElements(view.sizes, view.strides).value_or(0) * SizeOf(type);
  }

  std::string op_;
  std::string level_;
  std::deque<TestTensor> tensors_;
  std::deque<std::string> texts_;
  std::deque<std::vector<int64_t>> lists_;
  OperatorRequest request_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_REQUEST_BUILDER_H_
