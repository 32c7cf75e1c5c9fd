// File: tests/gpu/cells.h
//
// Which kernels tests of devices run.

#ifndef OPSERVE_TESTS_GPU_CELLS_H_
#define OPSERVE_TESTS_GPU_CELLS_H_

#include <vector>

#include "tests/conformance/call_cases.h"

namespace opserve::testing {

// The cells of the operators that have an HLSL body.
std::vector<Cell> CellsWithKernels();

// One of them for each shape and width of elements, by which alone kernels tell where elements lie;
// and one with attributes.
std::vector<Cell> CellsOfEachWidth();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_CELLS_H_
