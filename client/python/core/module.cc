// The extension module opserve._core: what the package's Python is written upon. Users see the
// classes of client/python/opserve; names and types here are for those.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/python/core/arrays.h"
#include "client/python/core/bind_catalogue.h"
#include "client/python/core/call_settings.h"
#include "client/python/core/connection.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"
#include "client/python/core/waiting.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// As stubs show them.
using AnyTuple = nb::typed<nb::tuple, nb::any, nb::ellipsis>;
using Keywords = nb::typed<nb::dict, nb::str, nb::any>;
using Inputs = std::vector<
    std::tuple<std::string, std::string, bool, std::vector<int>, std::vector<int>, bool>>;

std::vector<uint32_t> EmptyIfSingle(const std::vector<uint32_t>& sizes, bool is_single) {
  return is_single ? std::vector<uint32_t>() : sizes;
}

nb::object ShapeAsTuple(const std::vector<uint32_t>& sizes, bool is_single) {
  return nb::tuple(nb::cast(EmptyIfSingle(sizes, is_single)));
}

void MakeOperation(Operation* self, std::string name, const Inputs& inputs,
                   const std::vector<std::tuple<std::string, bool>>& attributes,
                   std::vector<int> result_type) {
  new (self) Operation{std::move(name), {}, {}, std::move(result_type)};
  for (const auto& [input, argument, is_one_element, same_type, float_of, is_in_place] : inputs) {
    self->inputs.push_back({input, argument, is_one_element, same_type, float_of, is_in_place});
  }
  for (const auto& [attribute, is_data_type] : attributes) {
    self->attributes.push_back({attribute, is_data_type});
  }
}

std::string TypeName(nb::handle value) {
  return nb::cast<std::string>(value.type().attr("__name__"));
}

// The option `name` as a T. What is no number is not repeated: it may be a secret.
template <class T>
T OptionAs(nb::handle value, const char* name, const char* wanted) {
  T option{};
  if (nb::try_cast(value, option)) return option;
  const std::string given = PyNumber_Check(value.ptr()) != 0 ? nb::repr(value).c_str()
                                                             : absl::StrCat("a ", TypeName(value));
  throw BadArguments(name, absl::StrCat(given, " is no ", wanted));
}

int NumberOption(nb::handle value, const char* name) {
  return OptionAs<int>(value, name, "integer of 32 bits");
}

uint64_t BytesOption(nb::handle value, const char* name) {
  return OptionAs<uint64_t>(value, name, "number of bytes");
}

std::string TextOption(nb::handle value, const char* name) {
  return OptionAs<std::string>(value, name, "string");
}

TlsOptions ReadTls(nb::handle given) {
  const auto part = [given](const char* name) {
    if (nb::hasattr(given, name)) return TextOption(given.attr(name), name);
    throw BadArguments(
        "tls", absl::StrCat("a ", TypeName(given), " is neither a bool nor an opserve.Tls"));
  };
  return {part("root_certificates"), part("client_certificate"), part("client_key"),
          part("server_name")};
}

// Options of `connect`, as keywords with the names of the C++ members.
ClientOptions ReadClientOptions(const nb::dict& given) {
  ClientOptions options;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "connect_timeout") {
      options.connect_timeout = SecondsAsTime(value, "connect_timeout");
    } else if (name == "timeout") {
      options.default_timeout = SecondsAsTime(value, "timeout");
    } else if (name == "max_attempts") {
      options.retry.max_attempts = NumberOption(value, "max_attempts");
    } else if (name == "bearer_token") {
      options.bearer_token = TextOption(value, "bearer_token");
    } else if (name == "client_name") {
      options.client_name = TextOption(value, "client_name");
    } else if (name == "channels") {
      options.channels = NumberOption(value, "channels");
    } else if (name == "max_message_bytes") {
      options.max_message_bytes = NumberOption(value, "max_message_bytes");
    } else if (name == "idle_buffer_bytes") {
      options.idle_buffer_bytes = BytesOption(value, "idle_buffer_bytes");
    } else if (name == "max_shared_bytes") {
      options.max_shared_bytes = BytesOption(value, "max_shared_bytes");
    } else if (name == "tls") {
      options.tls = ReadTls(value);
    } else {
      throw nb::type_error("an option of connect that there is not");
    }
  }
  return options;
}

ResidentOptions ResidentOptionsOf(nb::handle ttl, std::string label, bool skip_if_known,
                                  const std::optional<std::string>& placement, std::string device,
                                  bool is_volatile) {
  ResidentOptions options;
  if (!ttl.is_none()) options.ttl = SecondsAsTime(ttl, "ttl");
  options.label = std::move(label);
  options.skip_if_known = skip_if_known;
  if (placement) options.placement = DeviceByName(nb::cast(*placement));
  options.device = std::move(device);
  options.is_volatile = is_volatile;
  return options;
}

void BindCalls(nb::module_& module) {
  nb::class_<Operation>(module, "Operation")
      .def("__init__", &MakeOperation, "name"_a, "inputs"_a, "attributes"_a, "result_type"_a)
      .def_ro("name", &Operation::name);
  nb::class_<ExecutionInfo>(module, "ExecutionInfo", "How a call was run.")
      .def_ro("device", &ExecutionInfo::device, "Where, as the server lists its devices.")
      .def_ro("batch_size", &ExecutionInfo::batch_size,
              "Calls that ran together with this one, itself included.")
      .def_prop_ro(
          "queue_seconds",
          [](const ExecutionInfo& info) { return absl::ToDoubleSeconds(info.queue_time); },
          "From acceptance until the operator started.")
      .def_prop_ro(
          "run_seconds",
          [](const ExecutionInfo& info) { return absl::ToDoubleSeconds(info.run_time); },
          "Of the operator.")
      .def_ro("attempts", &ExecutionInfo::attempts,
              "Runs that the server started; above 1: a device failed.")
      .def_ro("verified", &ExecutionInfo::verified,
              "Whether the result was compared with the CPU's.")
      .def_ro("sends", &ExecutionInfo::sends, "How often the client sent the call.")
      .def_prop_ro(
          "path", [](const ExecutionInfo& info) { return std::string(NameOf(info.path)); },
          "How the arrays travelled: MESSAGE, or SHARED_MEMORY by the client's own choice.");
  nb::class_<PendingCall>(module, "Call",
                          "A call under way. It goes on when nobody has it any more.")
      .def(
          "result",
          [](PendingCall& call, const nb::object& timeout) {
            return call.Result(SecondsAsTime(timeout, "timeout"));
          },
          "timeout"_a.none() = nb::none(),
          nb::sig("def result(self, timeout: float | None = None) -> "
                  "numpy.typing.NDArray[typing.Any]"),
          "Waits for the result, the same each time, or `out`. Raises the call's error, or\n"
          "TimeoutError after `timeout` seconds, and the call goes on.")
      .def("done", &PendingCall::IsDone, "Whether it is over.")
      .def("cancel", &PendingCall::Cancel,
           "Gives it up. Its arrays are in use until it is over: `result` tells when.")
      .def("info", &PendingCall::Info, "Waits for the end, and tells how it was run.");
  nb::class_<CompletionQueue>(module, "CompletionQueue", nb::is_weak_referenceable())
      .def(nb::init<>())
      .def("fileno",
           [](const CompletionQueue& queue) { return queue.calls()->signal().descriptor(); })
      .def(
          "waiter",
          [](const CompletionQueue& queue) {
            return nb::cpp_function([calls = queue.calls()] {
              return WithoutGil([&calls] { return calls->WaitForMore(); });
            });
          },
          nb::sig("def waiter(self) -> typing.Callable[[], bool]"))
      .def(
          "take",
          [](const CompletionQueue& queue, const nb::list& ended) { queue.calls()->Take(ended); },
          "ended"_a, nb::sig("def take(self, ended: list[typing.Any]) -> None"));
}

void BindTensors(nb::module_& module) {
  nb::class_<ResidentTensor>(
      module, "ResidentTensor",
      "A tensor that the server keeps until this object is deleted or ends. An operand and an\n"
      "`out` of calls; in a `with` block it is deleted with it.")
      .def("read", &ResidentTensor::Read, "out"_a.none() = nb::none(),
           nb::sig("def read(self, out: numpy.typing.NDArray[typing.Any] | None = None) -> "
                   "numpy.typing.NDArray[typing.Any]"),
           "A copy of its elements, in a new array or in `out`.")
      .def("write", &ResidentTensor::Write, "array"_a.none(),
           nb::sig("def write(self, array: numpy.typing.ArrayLike) -> None"),
           "Replaces its elements by those of an array of the same type and shape.")
      .def("delete", &ResidentTensor::Delete,
           "Tells the server that it is not needed any more; does not wait.")
      .def(
          "__enter__", [](const nb::object& self) { return self; },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](ResidentTensor& tensor, const nb::args&) { tensor.Delete(); },
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def_prop_ro(
          "id", [](const ResidentTensor& tensor) { return tensor.handle().id; },
          "Its name at the server.")
      .def_prop_ro(
          "host",
          [](const ResidentTensor& tensor) { return std::string(HostOf(tensor.handle().id)); },
          "The address of the host that has it, where that tells one, or \"\".")
      .def_prop_ro("device", &ResidentTensor::device, "The GPU that it is placed on, or \"\".")
      .def_prop_ro("deleted", &ResidentTensor::is_deleted)
      .def_prop_ro(
          "dtype", [](const ResidentTensor& tensor) { return DtypeOf(tensor.spec().data_type); },
          nb::for_getter(nb::sig("def dtype(self) -> numpy.dtype[typing.Any]")))
      .def_prop_ro(
          "shape",
          [](const ResidentTensor& tensor) {
            return ShapeAsTuple(tensor.spec().sizes, tensor.is_single());
          },
          nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")));
  nb::class_<RegionArrays>(
      module, "Region",
      "Memory that this program shares with a server on its machine. Calls do not send the arrays\n"
      "in it, but name them. It lives as long as one of its arrays.")
      .def("empty", &RegionArrays::Empty, "shape"_a.none(), "dtype"_a,
           nb::sig("def empty(self, shape: typing.SupportsIndex | "
                   "collections.abc.Sequence[typing.SupportsIndex], "
                   "dtype: numpy.typing.DTypeLike) -> numpy.typing.NDArray[typing.Any]"),
           "A new array in it, behind those that there are.")
      .def_prop_ro("nbytes", &RegionArrays::size)
      .def_prop_ro("used", &RegionArrays::used, "Bytes that arrays have taken.");
  nb::class_<StepValue>(module, "Value", "What a step of a sequence will compute.")
      .def_ro("step", &StepValue::step)
      .def_prop_ro(
          "shape",
          [](const StepValue& value) { return ShapeAsTuple(value.sizes, value.is_single); },
          nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")));
  nb::class_<StepSequence>(module, "StepSequence")
      .def(nb::init<>())
      .def("add_output", &StepSequence::AddOutput, "value"_a)
      .def("step_of", &StepSequence::StepOf, "value"_a)
      .def("outputs", &StepSequence::outputs);
}

void BindServer(nb::module_& module) {
  nb::class_<DeviceInfo>(module, "Device", "A device that runs operators.")
      .def_ro("name", &DeviceInfo::name)
      .def_ro("description", &DeviceInfo::description)
      .def_prop_ro("kind",
                   [](const DeviceInfo& device) { return std::string(NameOf(device.kind)); })
      .def_prop_ro("state",
                   [](const DeviceInfo& device) { return std::string(NameOf(device.state)); })
      .def_ro("pending_requests", &DeviceInfo::pending_requests);
  nb::class_<ServerLimits>(module, "Limits", "Limits in force at a server.")
      .def_ro("max_dimension_count", &ServerLimits::max_dimension_count)
      .def_ro("max_elements", &ServerLimits::max_elements)
      .def_ro("max_tensor_bytes", &ServerLimits::max_tensor_bytes)
      .def_ro("max_message_bytes", &ServerLimits::max_message_bytes)
      .def_ro("max_concurrent_requests", &ServerLimits::max_concurrent_requests)
      .def_ro("max_sequence_steps", &ServerLimits::max_sequence_steps)
      .def_ro("max_resident_bytes_per_client", &ServerLimits::max_resident_bytes_per_client)
      .def_ro("max_stream_bytes", &ServerLimits::max_stream_bytes);
  nb::class_<ServerInfo>(module, "ServerInfo", "What a server is.")
      .def_ro("version", &ServerInfo::version)
      .def_ro("feature_level", &ServerInfo::feature_level)
      .def_ro("devices", &ServerInfo::devices)
      .def_ro("limits", &ServerInfo::limits)
      .def_prop_ro("shares_memory",
                   [](const ServerInfo& info) { return info.shared_memory.has_value(); });
}

// What connections and streams both run.
template <class Runner>
void BindSequences(nb::class_<Runner>& runner) {
  runner
      .def(
          "add_step",
          [](Runner& self, StepSequence& sequence, const Operation& operation,
             const AnyTuple& inputs, const AnyTuple& attributes, const nb::object& out,
             const Keywords& settings) {
            return self.AddStep(sequence, {operation, inputs, attributes, out, settings});
          },
          "sequence"_a, "operation"_a, "inputs"_a, "attributes"_a, "out"_a.none(), "settings"_a)
      .def(
          "start_sequence",
          [](Runner& self, StepSequence& sequence, const Keywords& settings,
             const CompletionQueue* queue, const nb::object& token) {
            return self.StartSequence(sequence, settings, TargetOf(queue, token));
          },
          "sequence"_a, "settings"_a, "queue"_a.none() = nb::none(), "token"_a.none() = nb::none());
}

void BindStreams(nb::module_& module) {
  nb::class_<StreamObject> streams(module, "StreamObject");
  BindSequences(streams);
  streams
      .def(
          "start",
          [](StreamObject& stream, const Operation& operation, const AnyTuple& inputs,
             const AnyTuple& attributes, const nb::object& out, const Keywords& settings,
             const CompletionQueue* queue, const nb::object& token) {
            return stream.Start({operation, inputs, attributes, out, settings},
                                TargetOf(queue, token));
          },
          "operation"_a, "inputs"_a, "attributes"_a, "out"_a.none(), "settings"_a,
          "queue"_a.none() = nb::none(), "token"_a.none() = nb::none())
      .def(
          "finish",
          [](StreamObject& stream, const nb::object& timeout) {
            stream.Finish(SecondsAsTime(timeout, "timeout"));
          },
          "timeout"_a.none() = nb::none());
}

void BindConnection(nb::module_& module) {
  nb::class_<Connection> connections(module, "Connection");
  BindSequences(connections);
  connections
      .def(
          "__init__",
          [](Connection* self, const std::string& target, const Keywords& options) {
            new (self) Connection(target, ReadClientOptions(options));
          },
          "target"_a, "options"_a)
      .def("close", &Connection::Close)
      .def(
          "run",
          [](Connection& connection, const Operation& operation, const AnyTuple& inputs,
             const AnyTuple& attributes, const nb::object& out, const Keywords& settings) {
            return nb::borrow<nb::any>(
                connection.Run({operation, inputs, attributes, out, settings}));
          },
          "operation"_a, "inputs"_a, "attributes"_a, "out"_a.none(), "settings"_a)
      .def(
          "start",
          [](Connection& connection, const Operation& operation, const AnyTuple& inputs,
             const AnyTuple& attributes, const nb::object& out, const Keywords& settings,
             const CompletionQueue* queue, const nb::object& token) {
            return connection.Start({operation, inputs, attributes, out, settings},
                                    TargetOf(queue, token));
          },
          "operation"_a, "inputs"_a, "attributes"_a, "out"_a.none(), "settings"_a,
          "queue"_a.none() = nb::none(), "token"_a.none() = nb::none())
      .def(
          "open_stream",
          [](Connection& connection, const nb::object& piece_bytes,
             const nb::object& max_bytes_in_flight, const nb::object& timeout, std::string host) {
            StreamOptions options;
            options.piece_bytes = BytesOption(piece_bytes, "piece_bytes");
            options.max_bytes_in_flight = BytesOption(max_bytes_in_flight, "max_bytes_in_flight");
            options.timeout = SecondsAsTime(timeout, "timeout");
            options.host = std::move(host);
            return connection.OpenStream(options);
          },
          "piece_bytes"_a.none(), "max_bytes_in_flight"_a.none(), "timeout"_a.none(), "host"_a)
      .def(
          "create_tensor",
          [](Connection& connection, const nb::object& array, const nb::object& ttl,
             std::string label, bool skip_if_known, const std::optional<std::string>& placement,
             std::string device, bool is_volatile) {
            return connection.CreateTensor(
                array, ResidentOptionsOf(ttl, std::move(label), skip_if_known, placement,
                                         std::move(device), is_volatile));
          },
          "array"_a.none(), "ttl"_a.none(), "label"_a, "skip_if_known"_a, "placement"_a.none(),
          "device"_a, "is_volatile"_a)
      .def(
          "create_zeros",
          [](Connection& connection, const nb::object& shape, const nb::object& dtype,
             const nb::object& ttl, std::string label, const std::optional<std::string>& placement,
             std::string device, bool is_volatile) {
            return connection.CreateZeros(shape, dtype,
                                          ResidentOptionsOf(ttl, std::move(label), false, placement,
                                                            std::move(device), is_volatile));
          },
          "shape"_a.none(), "dtype"_a, "ttl"_a.none(), "label"_a, "placement"_a.none(), "device"_a,
          "is_volatile"_a)
      .def(
          "create_region",
          [](Connection& connection, const nb::object& nbytes) {
            return connection.CreateRegion(BytesOption(nbytes, "nbytes"));
          },
          "nbytes"_a.none())
      .def(
          "lease_device",
          [](Connection& connection, std::string device, const nb::object& seconds,
             std::string label, const nb::object& timeout) {
            DeviceLeaseOptions options{.device = std::move(device), .label = std::move(label)};
            if (!seconds.is_none()) options.time = SecondsAsTime(seconds, "seconds");
            return connection.LeaseDevice(options, SecondsAsTime(timeout, "timeout"));
          },
          "device"_a, "seconds"_a.none(), "label"_a, "timeout"_a.none())
      .def("list_operators", &Connection::ListOperators, "name"_a, "feature_level"_a)
      .def("server_info", &Connection::GetServerInfo)
      .def("is_serving", &Connection::IsServing);
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "What the package opserve is written upon; use that.";
  // Arrays of calls that are still under way when the program ends are no leaks.
  nb::set_leak_warnings(false);
  // Debian builds Abseil with assertions, and then each lock of each of gRPC's mutexes, dozens for
  // a call, takes a global one to search for deadlocks. None of the module's own takes another.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  WatchForks();
  RegisterErrors();
  BindResultMemory(module);
  BindCalls(module);
  BindTensors(module);
  BindServer(module);
  BindCatalogue(module);
  BindLeases(module);
  BindStreams(module);
  BindConnection(module);
}

}  // namespace opserve::python
