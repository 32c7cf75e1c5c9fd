// File: client/python/core/sequence_builder.h
//
// Operators that run one after the other in one call, as a program of Python's writes them down: a
// method per step, whose result stands for what the server will compute. With the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_SEQUENCE_BUILDER_H_
#define OPSERVE_CLIENT_PYTHON_CORE_SEQUENCE_BUILDER_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "client/python/core/call_settings.h"
#include "client/python/core/calls.h"
#include "client/python/core/operands.h"
#include "client/python/core/pending_call.h"
#include "client/python/core/regions.h"
#include "opserve/client.h"
#include "opserve/sequence.h"
#include "opserve/stream.h"

namespace opserve::python {

// A sequence that is written down, and sent once: the memory of its inputs is kept until that call
// is over. Whatever would change it or send it after that throws BadArguments.
class StepSequence {
 public:
  // Adds a step. Inputs are arrays, numbers, tensors at the server and values of this sequence. An
  // `out`, a tensor at the server or an array in a region, makes the result an output.
  StepValue Add(const MethodArguments& arguments, const Regions& regions);
  // Makes a result an output, once.
  void AddOutput(const StepValue& value);

  // Sends what was written down. Results in the order of outputs(); without any, that of the last
  // step.
  std::unique_ptr<PendingCall> Start(Client& client, const nanobind::dict& settings,
                                     CompletionTarget completion);
  // The same over a stream.
  std::unique_ptr<PendingCall> Start(ExecuteStream& stream, const nanobind::dict& settings,
                                     CompletionTarget completion);
  // The step that a value is the result of. Throws BadArguments for one of another sequence.
  uint32_t StepOf(const StepValue& value) const;
  // The steps that are outputs.
  std::vector<uint32_t> outputs() const;

 private:
  // An input of the sequence. The same array is sent once.
  struct SequenceInput {
    PyObject* object;  // null: of a number, which is never the same
    Hold kept;
  };

  using Handle = opserve::Call<std::vector<SequenceResult>>;

  // A number that no sequence has had.
  static uint64_t NextNumber();

  // Throws BadArguments where it was sent.
  void CheckNotSent() const;
  // Throws BadArguments, which call it `name`, for a value of another sequence.
  void CheckOwn(const StepValue& value, const char* name) const;
  // Completes the sequence with the settings of the whole, which are returned.
  CallSettings Complete(const nanobind::dict& keywords);
  // Keeps the memory of what was sent until it is over.
  std::unique_ptr<PendingCall> Follow(const Handle& call, CompletionTarget completion);
  StepInput InputOf(const Operand& operand);
  uint32_t NumberOf(const Operand& operand);

  const uint64_t number_ = NextNumber();
  OperatorSequence sequence_;
  std::vector<StepValue> values_;  // of all steps
  std::vector<ResultForm> forms_;  // of the outputs
  std::vector<SequenceInput> inputs_;
  Holds holds_;
  bool is_sent_ = false;
};

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_SEQUENCE_BUILDER_H_
