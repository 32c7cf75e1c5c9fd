// File: tests/conformance/quantization_cases.h
//
// Calls of the operators whose inputs have types of their own, in every combination of these.

#ifndef OPSERVE_TESTS_CONFORMANCE_QUANTIZATION_CASES_H_
#define OPSERVE_TESTS_CONFORMANCE_QUANTIZATION_CASES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/invocation.h"
#include "tests/conformance/buffers.h"

namespace opserve::testing {

// Types of the inputs of a call, kUnknown where one is absent, and of its output.
struct QuantizedTypes {
  std::vector<DataType> inputs;
  DataType output;

  std::string ToString() const;
};

// All that the operators of quantisation take, with zero points and without.
std::vector<std::pair<OpId, QuantizedTypes>> AllQuantizedTypes();

// A call of the operator whose tensors have these sizes. `is_per_tensor`: scales and zero points
// have one element for all, by strides of 0. Fails the test and returns nullptr if validation
// refuses it.
std::shared_ptr<const Invocation> QuantizationCall(OpId id, const QuantizedTypes& types,
                                                   const std::vector<uint32_t>& sizes,
                                                   bool is_per_tensor = false);

// Inputs of such a call: those of MakeInputs, but half of the quotients are within the limits of 8
// bits and next to middles between two integers.
class QuantizationInputs {
 public:
  QuantizationInputs(const Invocation& call, std::mt19937_64& random);

  // As executors take them; nullptr where one is absent.
  const std::vector<const std::byte*>& pointers() const { return pointers_; }

 private:
  std::vector<GuardedInput> inputs_;
  std::vector<const std::byte*> pointers_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_QUANTIZATION_CASES_H_
