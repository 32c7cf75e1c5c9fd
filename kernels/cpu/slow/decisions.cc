#include "kernels/cpu/slow/decisions.h"

#include <atomic>

namespace opserve::cpu::slow {
namespace {

std::atomic<uint64_t> decisions = 0;

}  // namespace

void CountDecision() { decisions.fetch_add(1, std::memory_order_relaxed); }

uint64_t DecisionCount() { return decisions.load(std::memory_order_relaxed); }

}  // namespace opserve::cpu::slow
