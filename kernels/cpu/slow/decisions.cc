#include "kernels/cpu/slow/decisions.h"

#include <atomic>
#include <bit>
#include <cstddef>

namespace opserve::cpu::slow {
namespace {

// As many as a function leaves open, and again as many, so that few share a place.
constexpr int kLogPlaces = 12;

// Pages that no decision touches take no memory.
constinit thread_local std::array<Decision, size_t{1} << kLogPlaces> places = {};

std::atomic<uint64_t> decisions = 0;

std::array<uint64_t, 5> BitsOf(const DecisionKey& key) {
  return {reinterpret_cast<uintptr_t>(key.function), std::bit_cast<uint64_t>(key.parameters[0]),
          std::bit_cast<uint64_t>(key.parameters[1]), std::bit_cast<uint64_t>(key.inputs[0]),
          std::bit_cast<uint64_t>(key.inputs[1])};
}

}  // namespace

Decision& PlaceOf(const DecisionKey& key) {
  decisions.fetch_add(1, std::memory_order_relaxed);
  // The address of the function is one that clients do not know.
  uint64_t hash = 0;
  for (const uint64_t bits : BitsOf(key)) {
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return places[hash * 0x9E3779B97F4A7C15 >> (64 - kLogPlaces)];
}

bool AreSame(const DecisionKey& a, const DecisionKey& b) { return BitsOf(a) == BitsOf(b); }

uint64_t DecisionCount() { return decisions.load(std::memory_order_relaxed); }

}  // namespace opserve::cpu::slow
