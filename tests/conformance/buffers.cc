#include "tests/conformance/buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace opserve::testing {
namespace {

constexpr size_t kSentinelBytes = 128;
constexpr std::byte kSentinel{0xA5};

}  // namespace

GuardedInput::GuardedInput(size_t bytes) : size_(bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t usable = (bytes + page - 1) / page * page;
  mapping_bytes_ = usable + page;
  mapping_ =
      mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) std::abort();
  auto* first = static_cast<std::byte*>(mapping_);
  if (mprotect(first + usable, page, PROT_NONE) != 0) std::abort();
  data_ = first + usable - bytes;
}

GuardedInput::~GuardedInput() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

GuardedInput::GuardedInput(GuardedInput&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(other.mapping_bytes_),
      data_(other.data_),
      size_(other.size_) {}

SentinelOutput::SentinelOutput(size_t bytes, size_t misalignment)
    : storage_(bytes + misalignment + 2 * kSentinelBytes, kSentinel), size_(bytes) {
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  begin_ = (kSentinelBytes - address % kSentinelBytes) + misalignment;
}

bool SentinelOutput::intact() const {
  const auto is_sentinel = [](std::byte byte) { return byte == kSentinel; };
  const auto begin = storage_.begin() + static_cast<ptrdiff_t>(begin_);
  return std::all_of(storage_.begin(), begin, is_sentinel) &&
         std::all_of(begin + static_cast<ptrdiff_t>(size_), storage_.end(), is_sentinel);
}

}  // namespace opserve::testing
