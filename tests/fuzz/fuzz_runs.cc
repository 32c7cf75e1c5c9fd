// Fuzzes the payloads of streams that come in pieces: offers of calls and sequences and the terms
// that they are given, and messages with pieces of any size and number, which are put together run
// by run, or whole. Terms must keep to the rules, and what is put together must be what a simple
// model says.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/data_type.h"
#include "kernels/flat_part.h"
#include "kernels/sequence_part.h"
#include "kernels/validate.h"
#include "kernels/validate_sequence.h"
#include "server/execute/answer_queue.h"
#include "server/execute/payload_assembly.h"
#include "server/execute/run_assembly.h"
#include "server/execute/run_plan.h"
#include "server/wire/sequence_wire.h"
#include "server/wire/wire.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/run_case.pb.h"
#include "tests/fuzz/run_model.h"
#include "tests/fuzz/run_sender.h"

namespace opserve::fuzz {
namespace {

constexpr int kMostMessages = 128;
constexpr int kMostPayloads = 8;
constexpr size_t kMostSteps = 16;

using Lengths = std::vector<uint64_t>;

uint64_t SumOf(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
}

// A run has the same elements of every payload that is not sent ahead, and all runs together have
// all of them.
void CheckRunsOfPlan(const RunPlan& plan, const Lengths& lengths) {
  const Lengths first = plan.LengthsOf(0);
  const uint64_t runs = plan.run_count();
  Require(runs > 0 && first.size() == lengths.size());
  for (const uint64_t run : {uint64_t{0}, runs / 2, runs - 1}) {
    const Lengths of_run = plan.LengthsOf(run);
    for (size_t i = 0; i < first.size(); ++i) {
      if (first[i] == 0) {
        Require(of_run[i] == 0 && plan.ahead[i] == lengths[i]);
        continue;
      }
      Require(of_run[i] > 0 && run * first[i] < lengths[i]);
      Require(of_run[i] == std::min(first[i], lengths[i] - run * first[i]));
      Require(run + 1 < runs || run * first[i] + of_run[i] == lengths[i]);
    }
  }
}

// What the terms promise of a run of these outputs, which may be broken only by one of a single
// element.
void CheckTerms(const RunPlan& plan, const std::vector<const Invocation*>& outputs,
                const RunCase& input) {
  const uint64_t inputs = SumOf(plan.LengthsOf(0));
  Lengths wholes(input.offer().payload_bytes().begin(), input.offer().payload_bytes().end());
  Lengths results;
  for (const Invocation* const output : outputs) {
    results.push_back(plan.run_elements * SizeOf(output->output.data_type));
    wholes.push_back(output->output_bytes);
    Require(PartOf(*output, plan.run_elements).output_bytes == results.back());
  }
  Require(plan.run_bytes() == inputs + SumOf(results) && plan.max_open_runs > 0);
  Require(plan.bytes() == SumOf(wholes));
  Require(plan.ahead.empty() || input.offer().sends_ahead());
  Require(plan.ahead_bytes() <= input.window_bytes() / 4);
  if (plan.run_elements == 1) return;
  const uint64_t wished = input.offer().run_bytes();
  Require(inputs <= kStreamPieceBytes && *std::ranges::max_element(results) <= kStreamPieceBytes);
  Require(wished == 0 || inputs <= wished);
  Require(plan.held_bytes() <= input.window_bytes());
  Require(plan.run_count() <= 4 || plan.max_open_runs >= 4);
}

// No run reads beyond what has come of an input.
void CheckInputs(const RunPlan& plan, const Invocation& call) {
  for (const uint64_t run : {uint64_t{0}, plan.run_count() / 2, plan.run_count() - 1}) {
    const Invocation part = PartOf(call, plan.ElementsOf(run));
    Require(part.plan.element_count == plan.ElementsOf(run));
    for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
      if (call.payload_index[i] < 0) continue;
      const auto payload = static_cast<size_t>(call.payload_index[i]);
      const uint64_t in_run = plan.LengthsOf(run)[payload];
      if (in_run > 0) {
        Require(part.input_bytes[i] == in_run);
        continue;
      }
      const uint64_t place = PlaceOf(call, i, run * plan.run_elements);
      Require(place * SizeOf(call.inputs[i].data_type) + part.input_bytes[i] <=
              plan.ahead[payload]);
    }
  }
}

// The same of a sequence, all of whose steps compute the elements of the run.
void CheckInputs(const RunPlan& plan, const SequenceInvocation& sequence) {
  const std::vector<RepeatedInput> repeated = RepeatedInputsOf(sequence);
  for (const uint64_t run : {uint64_t{0}, plan.run_count() / 2, plan.run_count() - 1}) {
    const SequenceInvocation part = PartOf(sequence, plan.ElementsOf(run));
    Require(run > 0 || part.plan.workspace_bytes == plan.workspace_bytes);
    for (uint32_t s = 0; s < part.steps.size(); ++s) {
      Require(part.call(s).plan.element_count == plan.ElementsOf(run));
    }
    const Lengths of_run = plan.LengthsOf(run);
    for (size_t i = 0; i < of_run.size(); ++i) Require(part.input_bytes[i] == of_run[i]);
    Require(part.input_bytes.size() == of_run.size() + repeated.size());
    for (size_t i = 0; i < repeated.size(); ++i) {
      const auto& [step, input, source] = repeated[i];
      const Invocation& call = sequence.call(step);
      const uint64_t place = PlaceOf(call, input, run * plan.run_elements);
      Require(place * SizeOf(call.inputs[input].data_type) + part.input_bytes[of_run.size() + i] <=
              plan.ahead[source]);
    }
  }
}

// A message that has the rest of a run, of so many payloads.
RunMessage RestOfRun(size_t parts) {
  RunMessage message;
  message.set_results(UINT64_MAX);
  for (size_t i = 0; i < parts; ++i) message.add_pieces()->set_bytes(UINT32_MAX);
  return message;
}

// Runs that are put together, beside the model.
class RunCheck {
 public:
  RunCheck(const RunPlan& plan, const Lengths& lengths)
      : plan_(plan), model_(lengths, plan.LengthsOf(0)), assembly_(plan, pool_) {}

  void Run(const RunCase& input) {
    for (const RunMessage& message : input.messages()) {
      if (!Add(message)) return;
    }
    if (!input.is_finished()) return;
    for (int i = 0; i < kMostMessages && model_.missing_parts() > 0; ++i) {
      if (sender_.budget() < SumOf(plan_.LengthsOf(0))) return;
      Require(Add(RestOfRun(model_.missing_parts())));
    }
  }

 private:
  // False where the stream is over.
  bool Add(const RunMessage& message) {
    if (message.is_given_up()) {
      is_dropped_ = true;
      assembly_.Drop();
    }
    sent_ += std::min(message.results(), model_.run() - sent_);
    const uint64_t end = is_dropped_ ? UINT64_MAX : sent_ + plan_.max_open_runs;
    SentPieces sent = sender_.Send(message, end);
    std::vector<ReceivedMessage> runs;
    const absl::Status status = assembly_.Add(Receive(sent.pieces, message), end, runs);
    Require(sent.is_refused ? absl::IsOutOfRange(status) : status.ok());
    if (is_dropped_) sent.runs.clear();
    std::optional<ReceivedMessage> ahead = assembly_.TakeAhead();
    const std::optional<RunContents> sent_ahead = model_.TakeAhead();
    Require(ahead.has_value() == (sent_ahead && !is_dropped_));
    if (ahead) CheckRun(*std::move(ahead), *sent_ahead);
    Require(runs.size() == sent.runs.size());
    for (size_t i = 0; i < runs.size(); ++i) CheckRun(std::move(runs[i]), sent.runs[i]);
    if (sent.is_refused) return false;
    Require(assembly_.run() == model_.run());
    Require(assembly_.is_complete() == model_.is_complete());
    return true;
  }

  const RunPlan plan_;
  RunModel model_;
  RunSender sender_{model_};
  HostBufferPool pool_{kMostSentBytes};
  RunAssembly assembly_;
  uint64_t sent_ = 0;
  bool is_dropped_ = false;
};

// `work`: a call or a sequence, whose results are those of `outputs`.
template <class Work>
void CheckRunsOf(const Work& work, const std::vector<const Invocation*>& outputs,
                 const RunCase& input, const Lengths& lengths) {
  const RunOffer offer = {.run_bytes = input.offer().run_bytes(),
                          .sends_ahead = input.offer().sends_ahead()};
  const RunDivision division = PlanRuns(work, lengths, offer, input.window_bytes());
  Require(division.plan.has_value() == division.why_whole.empty());
  if (!division.plan) return;
  const RunPlan& plan = *division.plan;
  CheckRunsOfPlan(plan, lengths);
  CheckTerms(plan, outputs, input);
  CheckInputs(plan, work);
  RunCheck(plan, lengths).Run(input);
}

void CheckRuns(const RunCase& input, const Lengths& lengths) {
  const ValidationLimits limits = {.max_tensor_bytes = UINT64_MAX};
  if (input.has_sequence()) {
    const SequenceHeader header = HeaderOf(input.sequence(), lengths);
    const auto sequence =
        ValidateSequence(header.call, {.tensors = limits, .max_steps = kMostSteps}).sequence;
    if (sequence == nullptr) return;
    std::vector<const Invocation*> outputs;
    for (const uint32_t step : sequence->outputs) outputs.push_back(&sequence->call(step));
    return CheckRunsOf(*sequence, outputs, input, lengths);
  }
  const RequestHeader header = HeaderOf(input.request(), lengths);
  const auto call = Validate(header.call, limits).invocation;
  if (call != nullptr) CheckRunsOf(*call, {call.get()}, input, lengths);
}

// The same pieces for payloads that are put together whole: they are one run. Where they are too
// large to be held, or given up, they are counted all the same.
void CheckWhole(const RunCase& input, const Lengths& lengths) {
  const bool is_held = std::all_of(lengths.begin(), lengths.end(),
                                   [](uint64_t bytes) { return bytes <= kMostSentBytes; });
  HostBufferPool pool(kMostSentBytes);
  PayloadAssembly assembly(lengths);
  RunModel model(lengths, lengths);
  RunSender sender(model);
  bool is_dropped = !is_held;
  if (is_held) Require(assembly.Allocate(pool).ok());
  for (const RunMessage& message : input.messages()) {
    if (message.is_given_up()) {
      is_dropped = true;
      assembly.Drop();
    }
    const SentPieces sent = sender.Send(message, UINT64_MAX);
    const ReceivedMessage received = Receive(sent.pieces, message);
    bool is_refused = false;
    for (const PayloadPlace& piece : received.places()) {
      is_refused = is_refused || !assembly.Add(received.slices(), piece);
    }
    Require(is_refused == sent.is_refused);
    Require(assembly.complete() == model.is_complete());
    if (!sent.runs.empty() && !is_dropped) CheckRun(assembly.Take(), sent.runs.front());
    if (is_refused || model.is_complete()) return;
  }
}

}  // namespace
}  // namespace opserve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace opserve::fuzz;
  RunCase input;
  if (!input.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  if (input.messages_size() > kMostMessages) return 0;
  const Lengths lengths(input.offer().payload_bytes().begin(), input.offer().payload_bytes().end());
  if (lengths.size() > kMostPayloads) return 0;
  CheckWhole(input, lengths);
  CheckRuns(input, lengths);
  return 0;
}
