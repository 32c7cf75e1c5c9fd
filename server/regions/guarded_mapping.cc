#include "server/regions/guarded_mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace opserve {

// The handler takes no locks, so everything is atomic.
struct GuardSlot {
  std::atomic<bool> is_taken{false};
  // Zero while the slot guards nothing; written last and cleared first.
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  // Zeros of the same size, to be moved over the mapping; null once they were.
  std::atomic<void*> spare{nullptr};

  // Whether `address` is in the mapping, which is safe to use then. Called by the handler.
  bool Replace(uintptr_t address) {
    const uintptr_t from = begin.load(std::memory_order_acquire);
    if (from == 0 || address < from) return false;
    const uintptr_t to = end.load(std::memory_order_acquire);
    // The slot of an address that is in use does not change.
    if (address >= to || begin.load(std::memory_order_relaxed) != from) return false;
    void* const zeros = spare.exchange(nullptr, std::memory_order_acq_rel);
    // Another thread is about to do it; the access is repeated until it has.
    if (zeros == nullptr) return true;
    // A direct system call: no interceptor of a sanitizer belongs in a signal handler. Moving
    // memory that was set aside takes no new memory, which there may be none of.
    return syscall(SYS_mremap, zeros, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, from) !=
           -1;
  }
};

namespace {

std::array<GuardSlot, kMaxGuardedMappings> slots;
struct sigaction previous_action;

void OnBusError(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int saved_errno = errno;
  // Broken memory modules come with other codes: no zeros may stand in for what was there.
  if (info->si_code == BUS_ADRERR) {
    for (GuardSlot& slot : slots) {
      if (!slot.Replace(reinterpret_cast<uintptr_t>(info->si_addr))) continue;
      errno = saved_errno;
      return;
    }
  }
  // The access is repeated, and goes to whoever was here before.
  sigaction(SIGBUS, &previous_action, nullptr);
  errno = saved_errno;
}

void InstallHandler() {
  static const bool is_installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
  static_cast<void>(is_installed);
}

GuardSlot* TakeSlot() {
  for (GuardSlot& slot : slots) {
    bool expected = false;
    if (slot.is_taken.compare_exchange_strong(expected, true)) return &slot;
  }
  return nullptr;
}

uint64_t RoundUpToPage(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Zeros of the process itself; nullptr where there are none to be had. Pages are only taken when
// they are used.
void* ReserveZeros(uint64_t bytes) {
  void* const zeros = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return zeros == MAP_FAILED ? nullptr : zeros;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GuardedMapping>> GuardedMapping::Map(int fd, uint64_t bytes) {
  InstallHandler();
  const uint64_t size = RoundUpToPage(bytes);
  GuardSlot* const slot = TakeSlot();
  if (slot == nullptr) return absl::ResourceExhaustedError("too many mappings");
  absl::Cleanup give_back = [slot] { slot->is_taken = false; };
  void* const zeros = ReserveZeros(size);
  if (zeros == nullptr) return absl::ResourceExhaustedError("no memory to stand in for it");
  void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    munmap(zeros, size);
    if (error == EACCES || error == EPERM) {
      return absl::InvalidArgumentError("it may not be written to");
    }
    return absl::ErrnoToStatus(error == ENOMEM ? ENOSPC : error, "mmap");
  }
  slot->spare = zeros;
  slot->end = reinterpret_cast<uintptr_t>(data) + size;
  slot->begin.store(reinterpret_cast<uintptr_t>(data), std::memory_order_release);
  std::move(give_back).Cancel();
  return std::unique_ptr<GuardedMapping>(
      new GuardedMapping(static_cast<std::byte*>(data), size, *slot));
}

GuardedMapping::~GuardedMapping() {
  slot_.begin = 0;
  if (void* const zeros = slot_.spare.exchange(nullptr)) munmap(zeros, size_);
  munmap(data_, size_);
  slot_.is_taken = false;
}

bool GuardedMapping::is_cut_off() const { return slot_.spare == nullptr; }

}  // namespace opserve
