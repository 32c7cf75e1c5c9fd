// File: kernels/flat_part.h
//
// Calls whose elements can be computed a few at a time, as they come.

#ifndef OPSERVE_KERNELS_FLAT_PART_H_
#define OPSERVE_KERNELS_FLAT_PART_H_

#include <cstdint>

#include "kernels/invocation.h"

namespace opserve {

// Whether any stretch of elements is a call by itself: element i of every tensor lies at the same
// place i, and each result depends on the elements of its own place alone. Inputs may be absent.
bool IsFlat(const Invocation& call);

// The call on any `elements` elements of a flat `call` that follow one another, 1 to as many as
// there are. Its descriptors are those of the whole; its plan and its lengths in bytes are not.
Invocation PartOf(const Invocation& call, uint64_t elements);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_FLAT_PART_H_
