// File: tests/prove/approximation.h
//
// Elementary functions and the activations made of them in the C library's long double: far faster
// than MPFR, and good enough to find inputs whose results are near a middle. Stateless and safe to
// use from any thread.

#ifndef OPSERVE_TESTS_PROVE_APPROXIMATION_H_
#define OPSERVE_TESTS_PROVE_APPROXIMATION_H_

#include <array>

#include "kernels/op_table.h"

namespace opserve::testing {

// The result of a transcendental operator of one input with these attributes, off by some 2^-63 of
// it. Aborts for other operators.
long double Approximation(OpId op, float input, const std::array<float, 2>& attributes);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_PROVE_APPROXIMATION_H_
