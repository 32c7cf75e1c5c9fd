#include "proto/ring/ring_counter.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace opserve {
namespace {

// Looks at a counter before its reader sleeps, which take some 20 to 50 us: a run is copied, or
// computed, in about that time, and to sleep and be woken takes longer.
constexpr int kLooks = 1000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Other processes see the word at other addresses, so it is not private. All that can go wrong ends
// the wait.
void Sleep(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::microseconds at_most) {
  const timespec timeout = {.tv_sec = static_cast<time_t>(at_most.count() / 1'000'000),
                            .tv_nsec = static_cast<long>(at_most.count() % 1'000'000 * 1000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void WakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void RingCounter::Publish(uint32_t count) {
  // Sequentially consistent, as is what a sleeper does: one of the two sees the other.
  count_.store(count);
  if (has_sleeper_.load() == 0) return;
  has_sleeper_.store(0);
  WakeAll(count_);
}

uint32_t RingCounter::WaitWhile(uint32_t seen, std::chrono::microseconds at_most) {
  for (int look = 0; look < kLooks; ++look) {
    const uint32_t now = count();
    if (now != seen) return now;
    Pause();
  }
  has_sleeper_.store(1);
  if (const uint32_t now = count_.load(); now != seen) return now;
  Sleep(count_, seen, at_most);
  return count();
}

}  // namespace opserve
