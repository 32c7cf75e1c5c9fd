// File: server/program/process_tuning.h
//
// Settings of the whole process, which only its main function may choose.

#ifndef OPSERVE_SERVER_PROGRAM_PROCESS_TUNING_H_
#define OPSERVE_SERVER_PROGRAM_PROCESS_TUNING_H_

#include <cstdint>

namespace opserve {

// Lets the allocator keep up to `bytes` bytes of freed memory at the end of each of its heaps,
// where it would give them back to the system and soon pay for fresh pages again. 0 leaves it
// alone. To be called before threads are started; does nothing without glibc.
void KeepHeap(uint64_t bytes);

// Gives all freed memory of the allocator back to the system, page by page, but for what KeepHeap
// lets it keep at the end of a heap of a thread. Threads that allocate meanwhile may wait for some
// tens of milliseconds. Thread-safe; does nothing without glibc.
void TrimHeap();

// Switches off the search for deadlocks that Abseil does at each lock of a mutex where it was built
// with assertions, as Debian's is: gRPC locks dozens for a call. Our own mutexes are not Abseil's.
void StopDeadlockSearch();

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_PROCESS_TUNING_H_
