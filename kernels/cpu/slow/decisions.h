// File: kernels/cpu/slow/decisions.h
//
// How often kernels met an element that FLOAT64 could not decide. Safe to use from any thread.

#ifndef OPSERVE_KERNELS_CPU_SLOW_DECISIONS_H_
#define OPSERVE_KERNELS_CPU_SLOW_DECISIONS_H_

#include <cstdint>

namespace opserve::cpu::slow {

// One element was decided.
void CountDecision();

// Elements decided since the process began.
uint64_t DecisionCount();

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_KERNELS_CPU_SLOW_DECISIONS_H_
