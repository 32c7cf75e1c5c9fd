// File: kernels/sequence_plan.h
//
// How a sequence runs on the processor: which steps go through the caches together, block by block,
// and where results are kept meanwhile. Pure and safe to use from any thread.

#ifndef OPSERVE_KERNELS_SEQUENCE_PLAN_H_
#define OPSERVE_KERNELS_SEQUENCE_PLAN_H_

#include <cstdint>
#include <span>

#include "kernels/sequence.h"

namespace opserve {

// Results in the workspace begin at multiples of this.
inline constexpr uint64_t kWorkspaceAlignment = 64;

// Whether element i of the output depends on element i of each input alone, in memory order, or on
// the first element of an input that is one value broadcast. Such calls of equal element counts can
// run block by block.
bool IsFlat(const Plan& plan);

// Makes the plan. A group is as many consecutive steps as are flat, of one element count, and
// broadcast no result of the group itself, up to kMaxGroupSteps; any other step is a group of its
// own. Results that nobody needs after their group, in groups of several steps, live in blocks; the
// others that are no outputs live in the workspace, from their group to the last one that uses
// them, where later ones take the place of earlier ones. `steps` as in SequenceInvocation.
SequencePlan MakeSequencePlan(std::span<const SequenceStep> steps,
                              std::span<const uint32_t> outputs);

// Fills in all that follows from the inputs, the steps and the outputs of `sequence`: its plan, and
// how much work and memory it is.
void CompleteSequence(SequenceInvocation& sequence);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_SEQUENCE_PLAN_H_
