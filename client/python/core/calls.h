// File: client/python/core/calls.h
//
// From a method's arguments to a call of the client library. To be used with the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_CALLS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_CALLS_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "client/python/core/call_settings.h"
#include "client/python/core/holds.h"
#include "client/python/core/operands.h"
#include "client/python/core/operation.h"
#include "client/python/core/pending_call.h"
#include "client/python/core/regions.h"
#include "opserve/client.h"
#include "opserve/stream.h"

namespace opserve::python {

// The arguments of a method of opserve/_operators.py.
struct MethodArguments {
  const Operation& operation;
  const nanobind::tuple& inputs;
  const nanobind::tuple& attributes;
  const nanobind::object& out;
  const nanobind::dict& settings;
};

// A call that can be sent, with what keeps its memory.
struct PreparedCall {
  OperatorCall call;
  CallSettings settings;
  std::optional<ResultTarget> target;
  ResultForm form;
  Holds holds;
};

// What the result has to be: as `target`, or of that type; none: as the server decides. Throws
// BadArguments where the type is not that of `target`.
std::optional<TensorSpec> OutputFor(const std::optional<ResultTarget>& target, DataType data_type);

PreparedCall PrepareCall(const MethodArguments& arguments, const Regions& regions);

// Runs the call and waits for its result, an array or `out`.
nanobind::object RunCall(Client& client, const MethodArguments& arguments, const Regions& regions);

// Starts the call, whose end is told to `completion`.
std::unique_ptr<PendingCall> StartCall(Client& client, const MethodArguments& arguments,
                                       const Regions& regions, CompletionTarget completion);
// The same over a stream. Throws BadArguments where there is an `out`.
std::unique_ptr<PendingCall> StartCall(ExecuteStream& stream, const MethodArguments& arguments,
                                       const Regions& regions, CompletionTarget completion);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_CALLS_H_
