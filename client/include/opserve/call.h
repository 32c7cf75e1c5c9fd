// File: opserve/call.h
//
// A call of one operator: what to run on which tensors, where, and how it went. Plain structs.

#ifndef OPSERVE_CALL_H_
#define OPSERVE_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "opserve/tensor.h"

namespace opserve {

// Dimensions of a tensor, in any order; the first one is 0.
using Axes = std::vector<int64_t>;

// A value of an operator's attribute.
struct Attribute {
  std::string name;  // DirectML's member name
  // An enum value by name or number, a data type by name, an integer, a float, or a list of
  // dimensions. UINT64 is for integers that INT64 does not hold.
  std::variant<std::string, int64_t, double, uint64_t, Axes> value;
};

// Where a call wants to run.
enum class DevicePreference : uint8_t {
  kDefault = 0,  // as the server was told, kAuto unless it was
  kAuto = 1,     // whichever device is expected to answer first
  // A GPU; FAILED_PRECONDITION where the server has none. The CPU answers where no GPU can: it has
  // no kernel for the type, or all of them failed. ExecutionInfo::device tells.
  kGpu = 2,
  kCpu = 3,  // only the CPU
};

// How urgent a call is: while calls wait, more urgent ones go first.
enum class CallPriority : uint8_t { kLow = 1, kNormal = 2, kHigh = 3 };

// How the tensors of a call came to the server, and its result back.
enum class PayloadPath : uint8_t {
  kMessage = 0,  // in messages, but for those that have a place (place.h)
  // Through memory that the client shared with the server by itself: see
  // ClientOptions::max_shared_bytes.
  kSharedMemory = 1
};

// "DEFAULT", "AUTO", "GPU", "CPU".
absl::string_view NameOf(DevicePreference device);
// "LOW", "NORMAL", "HIGH".
absl::string_view NameOf(CallPriority priority);
// "MESSAGE", "SHARED_MEMORY".
absl::string_view NameOf(PayloadPath path);

// A call of one operator.
struct OperatorCall {
  std::string operator_name;  // "ELEMENT_WISE_ROUND"
  std::vector<Attribute> attributes = {};
  std::vector<TensorView> inputs = {};
  // Wanted layout of the result. Unset parts take the operator's type, the inputs' sizes and the
  // packed layout.
  std::optional<TensorSpec> output = {};
  // Feature level to validate against, such as "3_0"; empty: the highest.
  std::string feature_level = {};
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  // Has a GPU's result compared with the CPU's before it is sent; the right one is sent in any
  // case.
  bool verify = false;
  // Written to the server's logs; at most 128 bytes.
  std::string request_id = {};
  // The lease of the GPU that it is to run on, by DeviceGrant::id; see device_lease.h. `device` is
  // kDefault or kGpu then. Empty: that of the environment's OPSERVE_LEASE, if there is one.
  std::string device_lease = {};
};

// How a call was run.
struct ExecutionInfo {
  std::string device;         // as listed by GetServerInfo
  uint32_t batch_size = 0;    // requests that ran together with this one, itself included
  absl::Duration queue_time;  // from acceptance until the operator started
  absl::Duration run_time;    // of the operator
  uint32_t attempts = 0;      // runs that the server started for it; above 1: a device failed
  bool verified = false;      // whether the result was compared with the CPU's
  int sends = 0;              // how often the client sent it; above 1: see RetryPolicy
  PayloadPath path = PayloadPath::kMessage;  // how the tensors travelled
};

}  // namespace opserve

#endif  // OPSERVE_CALL_H_
