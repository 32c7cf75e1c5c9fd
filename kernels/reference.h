// File: kernels/reference.h
//
// The slow, plain meaning of every operator: one element after the other, in scalar C++, straight
// from the descriptors. It shares no code with the kernels and none with plans, so that tests can
// hold both to it.

#ifndef OPSERVE_KERNELS_REFERENCE_H_
#define OPSERVE_KERNELS_REFERENCE_H_

#include <cstddef>
#include <span>

#include "kernels/invocation.h"

namespace opserve {

// Computes the call by coordinates and strides of its descriptors; `invocation.plan` is not looked
// at. Buffers are those of CpuExecutor::Run, and the output is written alike: every byte, gaps as
// zero. The lane type and the mode must be among those of the operator. Thread-safe.
void RunReference(const Invocation& invocation, std::span<const std::byte* const> inputs,
                  std::byte* output);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_REFERENCE_H_
