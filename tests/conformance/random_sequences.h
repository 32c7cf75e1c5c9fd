// File: tests/conformance/random_sequences.h
//
// Random sequences over all operators, types, modes and layouts of the table, and what they give
// step by step.

#ifndef OPSERVE_TESTS_CONFORMANCE_RANDOM_SEQUENCES_H_
#define OPSERVE_TESTS_CONFORMANCE_RANDOM_SEQUENCES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/sequence.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"

namespace opserve::testing {

// What random sequences are to be like.
struct SequenceShape {
  uint32_t max_steps = 12;
  // Elements of a tensor, or a few more.
  uint32_t elements = 100;
  // Percentage of step inputs that are views, and of steps whose output has strides.
  uint32_t views = 30;
  uint32_t strided_outputs = 10;
  // What steps are chosen from; and whether they may have a ScaleBias.
  std::vector<Cell> cells = AllCells();
  bool scale_biases = true;
};

// A valid sequence. Fails the test and returns nullptr where validation refuses it.
std::shared_ptr<const SequenceInvocation> MakeRandomSequence(const SequenceShape& shape,
                                                             std::mt19937_64& random);

// Inputs of a sequence, each right before a forbidden page.
std::vector<GuardedInput> MakeSequenceInputs(const SequenceInvocation& sequence,
                                             std::mt19937_64& random);

// The outputs that single runs of all steps give, one after the other.
std::vector<std::vector<std::byte>> RunStepByStep(const SequenceInvocation& sequence,
                                                  const std::vector<GuardedInput>& inputs,
                                                  const CpuExecutor& executor);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_RANDOM_SEQUENCES_H_
