// File: tests/conformance/open_elements.h
//
// Elements that GPU kernels leave open (kernels/hlsl/expressions.h): a device that meets one gives
// the call up, so tests of what it computes do without them.

#ifndef OPSERVE_TESTS_CONFORMANCE_OPEN_ELEMENTS_H_
#define OPSERVE_TESTS_CONFORMANCE_OPEN_ELEMENTS_H_

#include <vector>

#include "kernels/invocation.h"
#include "tests/conformance/buffers.h"

namespace opserve::testing {

// Makes a one of each element of `inputs` of which, or of pairs with which, the kernels of the call
// may leave a result open, or a two where that of a one is open: of one input exactly those, of
// packed pairs one of each, and of others all that are not of the magnitude of one.
void CloseOpenElements(const Invocation& call, std::vector<GuardedInput>& inputs);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_OPEN_ELEMENTS_H_
