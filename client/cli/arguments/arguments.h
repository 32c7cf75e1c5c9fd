// File: client/cli/arguments/arguments.h
//
// The command line of `opserve`, parsed into plain structs. Stateless and safe to use from any
// thread.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_ARGUMENTS_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_ARGUMENTS_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/arguments/tolerance_profile.h"
#include "opserve/client.h"

namespace opserve::cli {

// How to reach the server.
struct ServerArguments {
  std::string address = "127.0.0.1:50051";
  absl::Duration timeout = absl::Seconds(60);
  bool tls = false;
  std::string tls_ca_file = {};           // implies tls; empty: the system's authorities
  std::string tls_server_name = {};       // implies tls; empty: the host of the address
  std::string tls_certificate_file = {};  // implies tls; of this client; empty: none
  std::string tls_key_file = {};          // implies tls; of that certificate
  std::string token = {};
  std::string token_file = {};  // wins over token
  std::string client_name = {};
};

// A list of sizes or strides, one per dimension.
using Dimensions = std::vector<uint32_t>;

// The name of a file that is standard input, or standard output.
inline constexpr char kStandardStream[] = "-";

// The tensor that `text` names as "tensor:HANDLE"; nothing where it names a file.
std::optional<TensorHandle> HandleOf(const std::string& text);

// A call of an operator on tensors from files and at the server.
struct CallArguments {
  std::string operator_name = {};
  std::vector<Attribute> attributes = {};
  std::vector<std::string> inputs = {};       // files, or "tensor:HANDLE"
  std::vector<std::string> input_names = {};  // of each; empty: as its place in the list says
  // Per input, in order; fewer than inputs or an empty entry: the tensor's own.
  std::vector<Dimensions> sizes = {};
  std::vector<Dimensions> strides = {};
  Dimensions output_strides = {};
  DataType output_type = DataType::kUnknown;  // kUnknown: by the operator's rule
  std::string feature_level = {};
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  bool verify = false;
  std::string request_id = {};
};

struct RunArguments {
  ServerArguments server;
  CallArguments call;
  std::string output;  // a file, "tensor:HANDLE", or empty
  bool shared_memory = false;
  bool stream = false;
  bool json = false;
};

struct CompareArguments {
  ServerArguments server = {};
  CallArguments call = {};                // whose device computes the right result
  std::vector<std::string> actuals = {};  // files
  std::vector<std::string> devices = {};  // names of GPUs; "all": all of them
  ToleranceProfile profile = ToleranceProfile::kNone;
  std::optional<uint64_t> max_ulp = {};     // unset: 0
  std::optional<double> max_absolute = {};  // unset: 0
  bool same_nans = false;
  bool signed_zeros = false;
  int worst = 10;
  std::string junit_file = {};
  bool json = false;
};

struct PackArguments {
  CallArguments call;
  std::string output_file;
};

struct InputsArguments {
  std::string operator_name = {};      // empty: list the operators
  bool hard = false;                   // true unless they are listed
  DataType type = DataType::kUnknown;  // kUnknown: all types
  std::string folder = ".";
  bool json = false;
};

struct OperatorsArguments {
  ServerArguments server;
  std::string name;    // empty: all
  std::string search;  // empty: all
  std::string feature_level;
  bool json = false;
};

struct InfoArguments {
  ServerArguments server;
  bool json = false;
};

struct DevicesArguments {
  ServerArguments server = {};
  std::string name = {};  // empty: all
  bool self_test = false;
  bool json = false;
};

struct HealthArguments {
  ServerArguments server;
  std::string service;     // empty: the whole server
  std::string ready_file;  // of the server; its first address in place of that in `server`
  bool json = false;
};

struct BenchArguments {
  ServerArguments server;
  std::string operator_name = "ELEMENT_WISE_ROUND";
  std::vector<Attribute> attributes;  // MakeBenchCall tells what those missing are
  Dimensions shape = {256, 256};
  DataType type = DataType::kFloat32;
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  bool verify = false;
  absl::Duration duration = absl::Seconds(10);
  int concurrency = 8;
  int channels = 1;       // connections
  bool stream = false;    // one ExecuteStream per connection, not a call each
  bool messages = false;  // no shared memory
  double rate = 0;        // calls per second; 0: closed loop
  bool json = false;
};

struct SequenceArguments {
  ServerArguments server = {};
  std::string file = {};                // "-": standard input
  std::vector<std::string> steps = {};  // instead of a file: JSON of each step
  std::string feature_level = {};
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  bool verify = false;
  std::string request_id = {};
  bool stream = false;
  bool json = false;
};

struct TensorCreateArguments {
  ServerArguments server = {};
  std::string file = {};                        // empty: zeros of
  Dimensions shape = {};                        // these sizes
  DataType type = DataType::kUnknown;           // and this type
  absl::Duration lease = absl::ZeroDuration();  // 0: as the server likes
  std::string label = {};
  std::string device = {};  // "gpu", "cpu", a device's name, or empty
  bool is_volatile = false;
  bool skip_if_known = false;
  bool json = false;
};

struct TensorWriteArguments {
  ServerArguments server = {};
  std::string handle = {};
  std::string file = {};
  uint64_t offset = 0;  // in elements
  bool json = false;
};

struct TensorReadArguments {
  ServerArguments server = {};
  std::string handle = {};
  std::string output = {};  // a file, "-" for standard output, or empty
  bool json = false;
};

struct TensorListArguments {
  ServerArguments server = {};
  bool json = false;
};

struct TensorRenewArguments {
  ServerArguments server = {};
  std::vector<std::string> handles = {};
  absl::Duration lease = absl::ZeroDuration();  // 0: as the server likes
  bool json = false;
};

struct TensorDeleteArguments {
  ServerArguments server = {};
  std::vector<std::string> handles = {};
  bool json = false;
};

struct LeaseArguments {
  ServerArguments server = {};
  std::string device = {};                     // a device's name, or "gpu": any
  absl::Duration time = absl::ZeroDuration();  // 0: as the server likes
  std::string label = {};
  std::vector<std::string> command = {};  // empty: hold the lease until it ends
};

struct LeasesArguments {
  ServerArguments server = {};
  bool json = false;
};

struct EndLeaseArguments {
  ServerArguments server = {};
  uint64_t number = 0;
  bool json = false;
};

struct SetAsideArguments {
  ServerArguments server = {};
  std::string device = {};
  std::string reason = {};
  bool wait = false;  // until nothing runs there
  bool json = false;
};

struct ResumeArguments {
  ServerArguments server = {};
  std::string device = {};
  bool json = false;
};

using Command = std::variant<RunArguments, OperatorsArguments, InfoArguments, DevicesArguments,
                             HealthArguments, BenchArguments, PackArguments, SequenceArguments,
                             TensorCreateArguments, TensorWriteArguments, TensorReadArguments,
                             TensorListArguments, TensorRenewArguments, TensorDeleteArguments,
                             LeaseArguments, LeasesArguments, EndLeaseArguments, SetAsideArguments,
                             ResumeArguments, CompareArguments, InputsArguments>;

// Parses `arguments`, those after the program's name. Returns the command, or the exit code if
// there is nothing to run: help, the version, completions and the manual page go to `out`,
// complaints to `err`.
std::variant<Command, int> ParseArguments(const std::vector<std::string>& arguments,
                                          std::ostream& out, std::ostream& err);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_ARGUMENTS_H_
