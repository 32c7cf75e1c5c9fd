// File: kernels/cpu/slow/decisions.h
//
// Decisions about elements that FLOAT64 leaves open: how many there were, and the last few thousand
// of each thread. A function leaves open a few thousand numbers; so a tensor of nothing else is
// computed soon, though each decision takes a microsecond. Safe to use from any thread.

#ifndef OPSERVE_KERNELS_CPU_SLOW_DECISIONS_H_
#define OPSERVE_KERNELS_CPU_SLOW_DECISIONS_H_

#include <array>
#include <cstdint>

namespace opserve::cpu::slow {

// What a decision depends on; compared by bits.
struct DecisionKey {
  const void* function = nullptr;  // an address of its own for each function; never null
  std::array<double, 2> parameters = {};
  std::array<double, 2> inputs = {};
};

struct Decision {
  DecisionKey key;
  double result = 0;
};

// Where the calling thread remembers this decision, or has one of another key. Counts it.
Decision& PlaceOf(const DecisionKey& key);

// Whether all bits are the same.
bool AreSame(const DecisionKey& a, const DecisionKey& b);

// decide(), which depends on nothing but the key, or what it gave before.
template <class Decide>
double Remembered(const DecisionKey& key, const Decide& decide) {
  Decision& decision = PlaceOf(key);
  if (!AreSame(decision.key, key)) decision = {key, decide()};
  return decision.result;
}

// Decisions since the process began: one per element that was open, but for a few of rows that take
// two.
uint64_t DecisionCount();

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_KERNELS_CPU_SLOW_DECISIONS_H_
