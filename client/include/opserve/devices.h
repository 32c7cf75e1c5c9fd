// File: opserve/devices.h
//
// The devices of a server: what they are, how they fare, and how their self-tests ended. Plain
// structs, copies of what the server said at one moment; nothing in them changes by itself.

#ifndef OPSERVE_DEVICES_H_
#define OPSERVE_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace opserve {

// How many batches had a size.
struct BatchSizeCount {
  uint32_t size = 0;   // requests of each batch
  uint64_t count = 0;  // batches of that size

  bool operator==(const BatchSizeCount&) const = default;
};

// What a device did since the server started.
struct DeviceCounters {
  uint64_t requests = 0;                // answered by it
  std::vector<BatchSizeCount> batches;  // that it ran, by size
  uint64_t verified = 0;                // results compared with the CPU's
  uint64_t mismatches = 0;              // of these, wrong ones; the right result was sent instead
  uint64_t faults = 0;                  // runs that failed
  uint64_t losses = 0;                  // times it was lost
  uint64_t moved = 0;                   // requests that had to run elsewhere because of it
  uint64_t uploaded_bytes = 0;          // to it, with what lies between tensors (GPU)
  uint64_t kept_inputs = 0;             // not uploaded, because it kept a copy (GPU)
  uint64_t evictions = 0;               // copies that it gave up to use their memory (GPU)
  uint64_t kept_results = 0;            // kept, and not handed to the server's memory (GPU)
  uint64_t read_results = 0;            // of these, read from it later (GPU)
  uint64_t recomputed_results = 0;      // of these, computed again, as it had them no more (GPU)

  // Mean number of requests of its batches; 0 where it ran none.
  double AverageBatch() const;
};

// A device that runs operators.
struct DeviceInfo {
  // With the numbers of the wire contract. kUnknown: the server did not say, or is newer than this
  // client.
  enum class Kind : uint8_t {
    kUnknown = 0,
    kCpu = 1,  // the processor
    kGpu = 2,  // a Direct3D 12 device
  };

  // Whether it takes requests. Numbers and kUnknown as above.
  enum class State : uint8_t {
    kUnknown = 0,
    kReady = 1,        // it does
    kSuspect = 2,      // it does, though its last run failed
    kLost = 3,         // it does not: it is gone, and will be made anew
    kRecreating = 4,   // it does not: it is being made anew and tested
    kQuarantined = 5,  // it does not: its results were wrong; it will be made anew and tested
    kStarting = 6,     // it does not yet: it is being made and tested for the first time
    kSetAside = 7,     // it does not: an administrator set it aside
  };

  std::string name;         // as in ExecutionInfo::device
  std::string description;  // the processor's or the adapter's name
  uint32_t threads = 0;     // that run operators (CPU)
  Kind kind = Kind::kUnknown;
  std::string runtime;        // between the server and the hardware, such as "vkd3d" (GPU)
  std::string driver;         // and its version (GPU)
  std::string feature_level;  // Direct3D's, such as "11_0" (GPU)
  uint64_t memory_bytes = 0;  // that it has to itself (GPU)
  bool software = false;      // a GPU whose work is done by the processor; kAuto never picks it

  State state = State::kUnknown;
  std::string state_reason;          // why it is not kReady; empty where it is
  uint64_t pending_requests = 0;     // that wait for it
  uint64_t pending_bytes = 0;        // of their tensors
  uint32_t batches_in_flight = 0;    // that it works on
  uint64_t memory_budget_bytes = 0;  // that tensors may take of it, as of its last batch (GPU)
  uint64_t kept_bytes = 0;           // of its memory that copies of resident tensors take (GPU)
  absl::Duration lease_left;         // of the lease that has it; 0: it is not leased (GPU)
  DeviceCounters counters;
};

// Outcome of the known-answer test of one device.
struct SelfTestReport {
  std::string device;       // as in DeviceInfo::name
  bool passed = false;      // whether every answer was right
  uint32_t cases = 0;       // calls that were computed and compared
  std::string failure;      // what went wrong first; empty where it passed
  absl::Duration duration;  // of the test
};

// "CPU", "GPU"; "UNKNOWN" for any other number.
absl::string_view NameOf(DeviceInfo::Kind kind);

// "READY", "SUSPECT", ...; "UNKNOWN" for any other number.
absl::string_view NameOf(DeviceInfo::State state);

}  // namespace opserve

#endif  // OPSERVE_DEVICES_H_
