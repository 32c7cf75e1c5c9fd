// Counts what a program has on its heap, to the byte. To be preloaded; OPSERVE_HEAP_METER names a
// file, where two 64-bit integers then are: the bytes and the blocks allocated and not freed.

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

// The allocator of glibc under names that nobody replaces.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {

struct Meter {
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> blocks{0};
};

// Of the time before the file is there.
constinit Meter first_meter;
constinit std::atomic<Meter*> current_meter{&first_meter};

void Add(int64_t bytes, int64_t blocks) {
  Meter& meter = *current_meter.load(std::memory_order_relaxed);
  meter.bytes.fetch_add(bytes, std::memory_order_relaxed);
  meter.blocks.fetch_add(blocks, std::memory_order_relaxed);
}

int64_t SizeOf(void* block) { return static_cast<int64_t>(malloc_usable_size(block)); }

void* Counted(void* block) {
  if (block != nullptr) Add(SizeOf(block), 1);
  return block;
}

// Runs before the program has threads.
__attribute__((constructor)) void ShareMeter() {
  const char* const path = std::getenv("OPSERVE_HEAP_METER");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Meter)) != 0) std::abort();
  void* const memory = mmap(nullptr, sizeof(Meter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) std::abort();
  close(fd);
  auto* const meter = static_cast<Meter*>(memory);
  meter->bytes = first_meter.bytes.load();
  meter->blocks = first_meter.blocks.load();
  current_meter = meter;
}

}  // namespace

extern "C" {

void* malloc(size_t size) { return Counted(__libc_malloc(size)); }

void* calloc(size_t count, size_t size) { return Counted(__libc_calloc(count, size)); }

void* realloc(void* block, size_t size) {
  const int64_t before = block == nullptr ? 0 : SizeOf(block);
  void* const moved = __libc_realloc(block, size);
  // Without memory the block stays as it was; without a size it is freed.
  if (moved == nullptr && size != 0) return nullptr;
  if (block != nullptr) Add(-before, -1);
  return Counted(moved);
}

void* memalign(size_t alignment, size_t size) { return Counted(__libc_memalign(alignment, size)); }

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

void free(void* block) {
  if (block != nullptr) Add(-SizeOf(block), -1);
  __libc_free(block);
}

}  // extern "C"
