// File: tests/conformance/dispatch_model.h
//
// What GPU kernels touch, byte for byte: their walk over blocks, places and loops, in the 32-bit
// arithmetic that they use, without their operators. For tests and fuzzers.

#ifndef OPSERVE_TESTS_CONFORMANCE_DISPATCH_MODEL_H_
#define OPSERVE_TESTS_CONFORMANCE_DISPATCH_MODEL_H_

#include <string>

#include "kernels/invocation.h"
#include "server/d3d12/dispatch.h"

namespace opserve::testing {

// Empty if every byte that the kernel reads lies in the place of its tensor or plan, every word
// that it writes in the output's buffer, and all that is uploaded and read back where it belongs.
// Otherwise tells the first access that does not. Visits every element.
std::string FirstOutOfBounds(const Invocation& call, const d3d12::Dispatch& dispatch);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_DISPATCH_MODEL_H_
