// tests/conformance/buffers.h with Windows' own means.

#include <windows.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "tests/conformance/buffers.h"

namespace opserve::testing {
namespace {

constexpr size_t kSentinelBytes = 128;
constexpr std::byte kSentinel{0xA5};
constexpr size_t kPageBytes = 4096;

}  // namespace

GuardedInput::GuardedInput(size_t bytes) : size_(bytes) {
  const size_t usable = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  mapping_bytes_ = usable + kPageBytes;
  mapping_ = VirtualAlloc(nullptr, mapping_bytes_, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (mapping_ == nullptr) std::abort();
  auto* first = static_cast<std::byte*>(mapping_);
  DWORD before = 0;
  if (!VirtualProtect(first + usable, kPageBytes, PAGE_NOACCESS, &before)) std::abort();
  data_ = first + usable - bytes;
}

GuardedInput::~GuardedInput() {
  if (mapping_ != nullptr) VirtualFree(mapping_, 0, MEM_RELEASE);
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
