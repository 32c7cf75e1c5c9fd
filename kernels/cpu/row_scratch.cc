#include "kernels/cpu/row_scratch.h"

#include <memory>

namespace opserve::cpu {
namespace {

struct alignas(64) Scratch {
  double numbers[kRowScratchSize];
};

}  // namespace

std::span<double, kRowScratchSize> RowScratch() {
  thread_local const auto scratch = std::make_unique_for_overwrite<Scratch>();
  return scratch->numbers;
}

}  // namespace opserve::cpu
