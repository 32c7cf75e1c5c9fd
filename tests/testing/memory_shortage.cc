#include "tests/testing/memory_shortage.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace opserve::testing {

thread_local bool is_short_of_memory = false;
std::atomic<int64_t> allocations_left = INT64_MAX;

}  // namespace opserve::testing

void* operator new(size_t bytes) {
  using opserve::testing::allocations_left;
  if (opserve::testing::is_short_of_memory && allocations_left.fetch_sub(1) <= 0) {
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
