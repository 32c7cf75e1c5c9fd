// What oneTBB promises, told to ThreadSanitizer: whatever a thread did before it spawned a task
// comes before the task, and the tasks before the end of the wait for them. oneTBB keeps that with
// atomics in a library that is not instrumented. These functions stand in front of its own.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace tbb::detail::r1 {
namespace {

// oneTBB's own function.
template <class Function>
Function* Next(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

// Runs a task on whatever thread takes it.
class TakenTask final : public d1::task {
 public:
  explicit TakenTask(d1::task& inner) : task_(inner) { __tsan_release(this); }

  d1::task* execute(d1::execution_data& data) override {
    __tsan_acquire(this);
    d1::task* const following = task_.execute(data);
    delete this;
    return following;
  }

  // Also after an exception out of execute.
  d1::task* cancel(d1::execution_data& data) override {
    __tsan_acquire(this);
    d1::task* const following = task_.cancel(data);
    delete this;
    return following;
  }

 private:
  d1::task& task_;
};

// Runs a function in an arena: in this thread or, where the arena is full, in one that is there.
class TakenFunction final : public d1::delegate_base {
 public:
  explicit TakenFunction(d1::delegate_base& function) : function_(function) {
    __tsan_release(this);
  }

  bool operator()() const override {
    auto* const self = const_cast<TakenFunction*>(this);
    __tsan_acquire(self);
    const bool result = function_();
    __tsan_release(self);
    return result;
  }

 private:
  d1::delegate_base& function_;
};

}  // namespace

void spawn(d1::task& task, d1::task_group_context& context) {
  using Spawn = void(d1::task&, d1::task_group_context&);
  static auto* const next =
      Next<Spawn>("_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE");
  next(*new TakenTask(task), context);
}

void spawn(d1::task& task, d1::task_group_context& context, d1::slot_id slot) {
  using Spawn = void(d1::task&, d1::task_group_context&, d1::slot_id);
  static auto* const next =
      Next<Spawn>("_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt");
  next(*new TakenTask(task), context, slot);
}

void execute_and_wait(d1::task& task, d1::task_group_context& context, d1::wait_context& wait,
                      d1::task_group_context& wait_group) {
  static auto* const next = Next<decltype(execute_and_wait)>(
      "_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_"
      "contextES6_");
  next(task, context, wait, wait_group);
  // Reads what the last task has counted down.
  wait.reserve(0);
}

void execute(d1::task_arena_base& arena, d1::delegate_base& function) {
  static auto* const next = Next<decltype(execute)>(
      "_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE");
  TakenFunction taken(function);
  next(arena, taken);
  __tsan_acquire(&taken);
}

// Memory of tasks goes from one to the next, not by way of free and malloc.
void* allocate(d1::small_object_pool*& pool, size_t bytes, const d1::execution_data& data) {
  using Allocate = void*(d1::small_object_pool*&, size_t, const d1::execution_data&);
  static auto* const next = Next<Allocate>(
      "_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE");
  void* const memory = next(pool, bytes, data);
  __tsan_acquire(memory);
  return memory;
}

void* allocate(d1::small_object_pool*& pool, size_t bytes) {
  using Allocate = void*(d1::small_object_pool*&, size_t);
  static auto* const next =
      Next<Allocate>("_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm");
  void* const memory = next(pool, bytes);
  __tsan_acquire(memory);
  return memory;
}

void deallocate(d1::small_object_pool& pool, void* memory, size_t bytes,
                const d1::execution_data& data) {
  using Deallocate = void(d1::small_object_pool&, void*, size_t, const d1::execution_data&);
  static auto* const next = Next<Deallocate>(
      "_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE");
  __tsan_release(memory);
  next(pool, memory, bytes, data);
}

void deallocate(d1::small_object_pool& pool, void* memory, size_t bytes) {
  using Deallocate = void(d1::small_object_pool&, void*, size_t);
  static auto* const next =
      Next<Deallocate>("_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm");
  __tsan_release(memory);
  next(pool, memory, bytes);
}

}  // namespace tbb::detail::r1
