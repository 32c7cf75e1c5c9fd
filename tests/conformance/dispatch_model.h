// File: tests/conformance/dispatch_model.h
//
// What GPU kernels touch, byte for byte: their walk over blocks, places and loops, in the 32-bit
// arithmetic that they use, without their operators. For tests and fuzzers.

#ifndef OPSERVE_TESTS_CONFORMANCE_DISPATCH_MODEL_H_
#define OPSERVE_TESTS_CONFORMANCE_DISPATCH_MODEL_H_

#include <span>
#include <string>

#include "server/d3d12/dispatch.h"

namespace opserve::testing {

// Empty if all that is uploaded and read back lies in its buffer, no two calls share a byte,
// kernels compute each call from its own bytes only, write all of its result, and write and read
// nothing outside of the areas that are bound. Otherwise tells the first access that does
// otherwise. Visits every element.
std::string FirstOutOfBounds(std::span<const DeviceCall> calls, const d3d12::BatchLayout& layout);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_DISPATCH_MODEL_H_
