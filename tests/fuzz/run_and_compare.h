// File: tests/fuzz/run_and_compare.h
//
// Runs a validated call on the CPU kernels and on the scalar reference, in buffers of exactly the
// sizes that the invocation promises, and aborts where the results differ. Under AddressSanitizer a
// single byte read or written outside of them ends the program as well. What the GPU kernel of the
// call would touch is held to a model, since devices check no bounds.

#ifndef OPSERVE_TESTS_FUZZ_RUN_AND_COMPARE_H_
#define OPSERVE_TESTS_FUZZ_RUN_AND_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/invocation.h"
#include "server/device/compute_device.h"

namespace opserve::fuzz {

// Aborts where the GPU kernel would touch what it must not in a batch of `calls`, all of one lane.
// Their buffers are not looked at, and nothing where they are such that none has a kernel.
void CheckGpuBounds(std::span<const DeviceCall> calls);

// Fills the inputs with bytes of `pool`, over and over; zeros where it is empty.
void RunAndCompare(const Invocation& invocation, std::span<const uint8_t> pool);

}  // namespace opserve::fuzz

#endif  // OPSERVE_TESTS_FUZZ_RUN_AND_COMPARE_H_
