// File: kernels/flat_part.h
//
// Calls whose elements can be computed a few at a time, in the order in which the results lie.

#ifndef OPSERVE_KERNELS_FLAT_PART_H_
#define OPSERVE_KERNELS_FLAT_PART_H_

#include <cstdint>

#include "kernels/invocation.h"

namespace opserve {

// Whether each result depends on the elements of its own place alone, and results lie one after the
// other, in the order in which the loops of the plan compute them. What follows is about such
// calls.
bool IsInOrder(const Invocation& call);

// Whether element i of an input that is there lies at the place i of the result, for every i.
bool RunsAlong(const Invocation& call, int input);

// Whether any stretch of elements is a call by itself, on the same stretch of every tensor. Inputs
// may be absent.
bool IsFlat(const Invocation& call);

// The largest number of elements up to `most`, at least 1, with which the results divide into
// stretches that are loop nests: all of this length, or all but the last one. A call with one loop
// has such stretches of any length; with several, stretches are whole iterations of a loop, and all
// of this length where that is not the outermost one. Several whole cache lines where that is a
// matter of choice.
uint64_t EvenStretch(const Invocation& call, uint64_t most);

// The call on one stretch of `elements` elements, as EvenStretch divides them; any stretch of a
// flat call. Its descriptors are those of the whole; its plan and its lengths in bytes are not.
Invocation PartOf(const Invocation& call, uint64_t elements);

// Where the elements of an input begin that go with the results from number `element` on: a number
// of elements.
uint64_t PlaceOf(const Invocation& call, int input, uint64_t element);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_FLAT_PART_H_
