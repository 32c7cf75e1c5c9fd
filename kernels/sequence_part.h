// File: kernels/sequence_part.h
//
// Sequences that can be computed a few elements at a time, in the order in which the result lies:
// what kernels/flat_part.h is to calls.

#ifndef OPSERVE_KERNELS_SEQUENCE_PART_H_
#define OPSERVE_KERNELS_SEQUENCE_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sequence.h"

namespace opserve {

// Why a sequence cannot be computed a few elements at a time, in words that go with "because" and
// name the step; empty: it can. Then every step computes the same number of elements in order
// (IsInOrder), each from the elements of its own place of earlier results, and each input of the
// sequence either runs along in all steps that use it, or is repeated in all of them. What follows
// is about such sequences.
std::string WhyNotInOrder(const SequenceInvocation& sequence);

// An input of a step that is an input of the sequence and repeated over the elements of the step.
struct RepeatedInput {
  uint32_t step = 0;
  // Number of the step's input, and of the sequence's.
  int input = 0;
  uint32_t source = 0;
};

// All of them, in the order of the steps.
std::vector<RepeatedInput> RepeatedInputsOf(const SequenceInvocation& sequence);

// The largest number of elements up to `most`, at least 1, with which every step divides into
// stretches: see EvenStretch of a call. Sequences whose loops do not go with each other have short
// ones.
uint64_t EvenStretch(const SequenceInvocation& sequence, uint64_t most);

// The sequence on one stretch of `elements` elements, as EvenStretch divides them. Its inputs are
// those of the whole, and after them one for each of RepeatedInputsOf, whose bytes begin at PlaceOf
// of that input of the step's call; those of the whole that are repeated have no bytes in it.
SequenceInvocation PartOf(const SequenceInvocation& sequence, uint64_t elements);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_SEQUENCE_PART_H_
