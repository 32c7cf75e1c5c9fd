#include "proto/base/host_buffers.h"

#include <array>
#include <new>

#include "proto/base/mutex.h"

namespace opserve {
namespace {

constexpr std::align_val_t kAlignment{kHostBufferAlignment};

// Larger ones are not to be had; every class below has an index.
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

// Consecutive numbers of the sizes that HostBufferSizeOf returns, from 0 on.
constexpr size_t ClassOf(uint64_t size) {
  if (size <= kMinHostBufferBytes) return 0;
  const int power = std::bit_width(size - 1) - 1;
  const uint64_t quarter = (size - 1 - (uint64_t{1} << power)) >> (power - 2);
  return 1 + 4 * (power - std::bit_width(kMinHostBufferBytes - 1)) + quarter;
}
constexpr size_t kClassCount = ClassOf(kMaxBytes) + 1;

void* Allocate(uint64_t bytes) { return ::operator new(bytes, kAlignment); }

void Free(void* data) { ::operator delete(data, kAlignment); }

}  // namespace

// The idle buffers. Held by the pool and by every buffer on loan, so that a result which gRPC is
// still sending may outlive the server, and a tensor the client.
class HostBuffer::Shelf {
 public:
  explicit Shelf(uint64_t budget) : budget_(budget) {}
  ~Shelf() {
    for (const Stack& stack : stacks_) {
      for (Idle* idle = stack.newest; idle != nullptr;) Free(std::exchange(idle, idle->older));
    }
  }
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  // An idle buffer of exactly this size, the one used last; nullptr where there is none.
  void* Take(uint64_t size) {
    MutexLock lock(mutex_);
    Stack& stack = stacks_[ClassOf(size)];
    Idle* const idle = stack.newest;
    if (idle != nullptr) Remove(stack, idle);
    return idle;
  }

  void Put(uint64_t size, void* data) {
    if (size > budget_) {
      Free(data);
      return;
    }
    Push(size, data);
    while (Idle* surplus = TakeSurplus()) Free(surplus);
  }

  uint64_t bytes() const {
    MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  // Lies in the buffer itself, so that giving one back allocates nothing.
  struct Idle {
    Idle* newer;
    Idle* older;
    uint64_t size;
    uint64_t last_use;
  };
  static_assert(sizeof(Idle) <= kMinHostBufferBytes);

  // The idle buffers of one size.
  struct Stack {
    Idle* newest = nullptr;
    Idle* oldest = nullptr;
  };

  void Push(uint64_t size, void* data) {
    MutexLock lock(mutex_);
    Stack& stack = stacks_[ClassOf(size)];
    auto* const idle = new (data) Idle{nullptr, stack.newest, size, ++last_use_};
    (stack.newest != nullptr ? stack.newest->newer : stack.oldest) = idle;
    stack.newest = idle;
    bytes_ += size;
  }

  void Remove(Stack& stack, Idle* idle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    (idle->newer != nullptr ? idle->newer->older : stack.newest) = idle->older;
    (idle->older != nullptr ? idle->older->newer : stack.oldest) = idle->newer;
    bytes_ -= idle->size;
  }

  // What has been idle for longest, while there is more than the budget allows.
  Idle* TakeSurplus() {
    MutexLock lock(mutex_);
    if (bytes_ <= budget_) return nullptr;
    Stack* found = nullptr;
    for (Stack& stack : stacks_) {
      if (stack.oldest == nullptr) continue;
      if (found == nullptr || stack.oldest->last_use < found->oldest->last_use) found = &stack;
    }
    Idle* const idle = found->oldest;
    Remove(*found, idle);
    return idle;
  }

  const uint64_t budget_;
  mutable Mutex mutex_;
  std::array<Stack, kClassCount> stacks_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_use_ ABSL_GUARDED_BY(mutex_) = 0;
};

HostBuffer::~HostBuffer() {
  if (shelf_ != nullptr) shelf_->Put(size_, data_);
}

HostBufferPool::HostBufferPool(uint64_t idle_budget)
    : shelf_(std::make_shared<HostBuffer::Shelf>(idle_budget)) {}

HostBuffer HostBufferPool::Take(uint64_t bytes) {
  if (bytes > kMaxBytes) throw std::bad_alloc();
  HostBuffer buffer;
  buffer.size_ = HostBufferSizeOf(bytes);
  void* data = shelf_->Take(buffer.size_);
  if (data == nullptr) data = Allocate(buffer.size_);
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.shelf_ = shelf_;
  return buffer;
}

uint64_t HostBufferPool::idle_bytes() const { return shelf_->bytes(); }

}  // namespace opserve
