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

// Switches off the search for deadlocks that Abseil does at each lock of a mutex where it was built
// with assertions, as Debian's is: gRPC locks dozens for a call. Our own mutexes are not Abseil's.
void StopDeadlockSearch();

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_PROCESS_TUNING_H_
