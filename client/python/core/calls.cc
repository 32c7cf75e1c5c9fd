#include "client/python/core/calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"
#include "client/python/core/waiting.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

bool Overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

bool AreSame(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() == b.data() && a.size() == b.size();
}

// Whether the server puts the result at a place: in a region from a multiple of kResultAlignment
// on, and over no input but one in whose place the operator works.
bool IsTaken(const TensorPlace& place, const std::vector<Operand>& operands) {
  const auto* const range = std::get_if<RegionRange>(&place);
  if (range == nullptr) return true;
  if (range->offset() % kResultAlignment != 0) return false;
  return std::ranges::all_of(operands, [range](const Operand& operand) {
    return !Overlap(operand.bytes, range->bytes()) ||
           (operand.is_in_place && AreSame(operand.bytes, range->bytes()));
  });
}

// Where the result of a call on these operands goes. What the server does not put at its place
// comes in the message, as it does for arrays that are not shared.
ResultTarget TargetFor(nb::handle out, const std::vector<Operand>& operands,
                       const Regions& regions) {
  ResultTarget target = MakeTarget(out, regions);
  if (target.place && !IsTaken(*target.place, operands)) target.place.reset();
  return target;
}

// Bytes of inputs from which on the client may copy them, or wait for a moment, before a call is on
// its way. With less it takes longer to get the GIL back than to start the call.
constexpr uint64_t kLongStartBytes = uint64_t{64} << 10;

bool IsLongStart(const OperatorCall& call) {
  uint64_t bytes = 0;
  for (const TensorView& input : call.inputs) bytes += input.bytes().size();
  return bytes >= kLongStartBytes;
}

PendingCall::Handle StartNow(Client& client, const PreparedCall& prepared) {
  const CallOptions options = prepared.settings.options();
  if (!prepared.target) return client.StartExecute(prepared.call, options);
  if (prepared.target->place) {
    return client.StartExecuteTo(prepared.call, *prepared.target->place, options);
  }
  return client.StartExecuteInto(prepared.call, prepared.target->bytes, options);
}

PendingCall::Handle Start(Client& client, const PreparedCall& prepared) {
  if (!IsLongStart(prepared.call)) return StartNow(client, prepared);
  return WithoutGil([&] { return StartNow(client, prepared); });
}

std::unique_ptr<PendingCall> Follow(PendingCall::Handle handle, PreparedCall prepared,
                                    CompletionTarget completion) {
  auto pending =
      std::make_unique<PendingCall>(handle, std::vector<ResultForm>{std::move(prepared.form)});
  std::visit(
      [&](const auto& call) { FollowCall(call, std::move(prepared.holds), std::move(completion)); },
      handle);
  return pending;
}

}  // namespace

std::optional<TensorSpec> OutputFor(const std::optional<ResultTarget>& target, DataType data_type) {
  if (target) {
    const DataType its = target->spec.data_type;
    if (data_type != DataType::kUnknown && data_type != its) {
      throw BadArguments("dtype", absl::StrCat(NameOf(data_type), ", and `out` is ", NameOf(its)));
    }
    return target->spec;
  }
  if (data_type == DataType::kUnknown) return std::nullopt;
  return TensorSpec{data_type};
}

PreparedCall PrepareCall(const MethodArguments& arguments, const Regions& regions) {
  GiveUpNow();
  PreparedCall prepared;
  prepared.settings = ReadSettings(arguments.settings);
  OperandList operands = MakeOperands(arguments.operation, arguments.inputs, regions);
  prepared.call.operator_name = arguments.operation.name;
  prepared.call.attributes =
      AttributesOf(arguments.operation, arguments.attributes, operands.first_type);
  if (!arguments.out.is_none()) {
    prepared.target = TargetFor(arguments.out, operands.operands, regions);
  }
  for (Operand& operand : operands.operands) {
    if (operand.value) {
      throw BadArguments("inputs", "a value of a sequence goes with that sequence's methods alone");
    }
    prepared.call.inputs.push_back(operand.View());
    prepared.holds.push_back(std::move(operand.hold));
  }
  prepared.settings.Apply(prepared.call);
  prepared.form.is_single = operands.is_single;
  prepared.call.output = OutputFor(prepared.target, prepared.settings.data_type);
  if (prepared.target) {
    prepared.holds.push_back(prepared.target->hold);
    prepared.form.out = arguments.out;
  }
  return prepared;
}

nb::object RunCall(Client& client, const MethodArguments& arguments, const Regions& regions) {
  const PreparedCall prepared = PrepareCall(arguments, regions);
  const CallOptions options = prepared.settings.options();
  if (prepared.target) {
    ThrowUnlessOk(WithoutGil([&] {
                    return prepared.target->place
                               ? client.ExecuteTo(prepared.call, *prepared.target->place, options)
                               : client.ExecuteInto(prepared.call, prepared.target->bytes, options);
                  }).status());
    return prepared.form.out;
  }
  return AsArray(ValueOrThrow(WithoutGil([&] { return client.Execute(prepared.call, options); })),
                 prepared.form.is_single);
}

std::unique_ptr<PendingCall> StartCall(Client& client, const MethodArguments& arguments,
                                       const Regions& regions, CompletionTarget completion) {
  PreparedCall prepared = PrepareCall(arguments, regions);
  PendingCall::Handle handle = Start(client, prepared);
  return Follow(std::move(handle), std::move(prepared), std::move(completion));
}

std::unique_ptr<PendingCall> StartCall(ExecuteStream& stream, const MethodArguments& arguments,
                                       const Regions& regions, CompletionTarget completion) {
  PreparedCall prepared = PrepareCall(arguments, regions);
  if (prepared.target) {
    throw BadArguments("out", "results of a stream are new arrays");
  }
  PendingCall::Handle handle = stream.Start(prepared.call, prepared.settings.timeout);
  return Follow(std::move(handle), std::move(prepared), std::move(completion));
}

}  // namespace opserve::python
