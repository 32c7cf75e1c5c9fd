// What gRPC promises, told to ThreadSanitizer: whatever a thread did before it started an
// operation, or gave a slice away, comes before whatever another does once it gets the tag, or the
// slice, back. gRPC keeps that with atomics in a library that is not instrumented. These functions
// stand in front of its own, at the boundary that all operations of client and server pass, those
// of its C++ layer and of its callbacks among them.

#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <sanitizer/tsan_interface.h>

#include <chrono>
#include <memory>
#include <thread>

#include "proto/transport/socket_mutator_abi.h"

namespace {

// gRPC's own function.
template <class Function>
Function* Next(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

grpc_event Take(grpc_event event) {
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

// Bytes that gRPC gives back to whoever lent them.
struct LentSlice {
  void (*give_back)(void*);
  void* user_data;
};

void GiveSliceBack(void* slice) {
  __tsan_acquire(slice);
  const std::unique_ptr<LentSlice> lent(static_cast<LentSlice*>(slice));
  lent->give_back(lent->user_data);
}

// Whoever gives up the last of gRPC within a callback leaves the end of its threads to another one,
// and a connection that fails gives up its part only when that is known. A program that exits
// meanwhile would seem to leak them.
class EndOfThreads {
 public:
  ~EndOfThreads() {
    using Wait = void();
    auto* const is_there = reinterpret_cast<decltype(&grpc_is_initialized)>(
        dlsym(RTLD_DEFAULT, "grpc_is_initialized"));
    const auto limit = std::chrono::steady_clock::now() + kMostWait;
    while (is_there != nullptr && is_there() != 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    auto* const wait =
        reinterpret_cast<Wait*>(dlsym(RTLD_DEFAULT, "_Z34grpc_maybe_wait_for_async_shutdownv"));
    // A program without gRPC has none.
    if (wait != nullptr) wait();
  }

 private:
  // Well above the 20 s that gRPC gives an attempt to connect, whose end it waits for. What is left
  // after this is kept by the program itself; everybody else is through sooner.
  static constexpr std::chrono::seconds kMostWait{30};
};

const EndOfThreads end_of_threads;

}  // namespace

// All below up to the completion queues is internal to gRPC 1.51.
grpc_arg grpc_socket_mutator_to_arg(grpc_socket_mutator* mutator);
bool grpc_socket_mutator_mutate_fd(grpc_socket_mutator* mutator, int fd, grpc_fd_usage usage);
void grpc_socket_mutator_unref(grpc_socket_mutator* mutator);

grpc_arg grpc_socket_mutator_to_arg(grpc_socket_mutator* mutator) {
  static auto* const next = Next<decltype(grpc_socket_mutator_to_arg)>(
      "_Z26grpc_socket_mutator_to_argP19grpc_socket_mutator");
  __tsan_release(mutator);
  return next(mutator);
}

bool grpc_socket_mutator_mutate_fd(grpc_socket_mutator* mutator, int fd, grpc_fd_usage usage) {
  static auto* const next = Next<decltype(grpc_socket_mutator_mutate_fd)>(
      "_Z29grpc_socket_mutator_mutate_fdP19grpc_socket_mutatori13grpc_fd_usage");
  __tsan_acquire(mutator);
  return next(mutator, fd, usage);
}

// The last one destroys it.
void grpc_socket_mutator_unref(grpc_socket_mutator* mutator) {
  static auto* const next = Next<decltype(grpc_socket_mutator_unref)>(
      "_Z25grpc_socket_mutator_unrefP19grpc_socket_mutator");
  if (mutator != nullptr) {
    __tsan_release(mutator);
    __tsan_acquire(mutator);
  }
  next(mutator);
}

// All operations begin here: calls, the server's requests for calls, alarms.
bool grpc_cq_begin_op(grpc_completion_queue* queue, void* tag);

bool grpc_cq_begin_op(grpc_completion_queue* queue, void* tag) {
  static auto* const next =
      Next<decltype(grpc_cq_begin_op)>("_Z16grpc_cq_begin_opP21grpc_completion_queuePv");
  __tsan_release(tag);
  return next(queue, tag);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static auto* const next =
      Next<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  return Take(next(queue, deadline, reserved));
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  static auto* const next =
      Next<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  return Take(next(queue, tag, deadline, reserved));
}

grpc_slice grpc_slice_new_with_user_data(void* bytes, size_t count, void (*give_back)(void*),
                                         void* user_data) {
  static auto* const next =
      Next<decltype(grpc_slice_new_with_user_data)>("grpc_slice_new_with_user_data");
  auto* const lent = new LentSlice{give_back, user_data};
  __tsan_release(lent);
  return next(bytes, count, GiveSliceBack, lent);
}
