// File: kernels/nan_bits.h
//
// Where the bits of computed NaNs show. Any quiet NaN is a right result of a step, and devices
// differ in which one they give: what a later step reads out of its bits is no result to compare.

#ifndef OPSERVE_KERNELS_NAN_BITS_H_
#define OPSERVE_KERNELS_NAN_BITS_H_

#include <span>

#include "kernels/sequence.h"

namespace opserve {

// Whether the operator reads elements as bits, and does not only move them.
bool ReadsBits(OpId op);

// Whether a NaN that one of `steps` computed may come to one that reads bits. Thread-safe.
bool ShowsNanBits(std::span<const SequenceStep> steps);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_NAN_BITS_H_
