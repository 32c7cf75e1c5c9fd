#include "client/api/sequence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/wire/wire.h"
#include "client/wire/wire_sequences.h"
#include "client/wire/wire_tensors.h"

namespace opserve::client_internal {
namespace {

constexpr char kExecuteSequence[] = "/opserve.v1.OperatorService/ExecuteSequence";

// Whether a repetition would find other inputs.
bool ChangesItsInputs(const OperatorSequence& sequence) {
  return std::any_of(sequence.outputs.begin(), sequence.outputs.end(),
                     [&](const SequenceOutput& output) {
                       return output.place && Overlaps(*output.place, sequence.inputs);
                     });
}

// Outputs that were asked for; the server returns that of the last step to who asks for none.
std::vector<SequenceOutput> OutputsOf(const OperatorSequence& sequence) {
  return sequence.outputs.empty() ? std::vector<SequenceOutput>(1) : sequence.outputs;
}

absl::Status CheckCounts(const std::vector<SequenceOutput>& outputs,
                         const v1::ExecuteSequenceResponse& header,
                         const ResponseMessage& response) {
  const auto payloads = static_cast<size_t>(std::count_if(
      outputs.begin(), outputs.end(), [](const SequenceOutput& output) { return !output.place; }));
  if (static_cast<size_t>(header.outputs_size()) == outputs.size() &&
      response.payload_count() == payloads) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("the server's response has ", header.outputs_size(),
                                          " outputs and ", response.payload_count(),
                                          " payloads, not ", outputs.size(), " and ", payloads));
}

absl::StatusOr<std::vector<SequenceResult>> TakeResults(ClientImpl& client,
                                                        const std::vector<SequenceOutput>& outputs,
                                                        const v1::ExecuteSequenceResponse& header,
                                                        const ResponseMessage& response) {
  absl::Status checked = CheckCounts(outputs, header, response);
  if (!checked.ok()) return checked;
  std::vector<SequenceResult> results;
  size_t payload = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const v1::TensorDesc& desc = header.outputs(static_cast<int>(i));
    if (outputs[i].place) {
      absl::StatusOr<TensorSpec> spec = DecodeOutputSpec(desc);
      if (!spec.ok()) return spec.status();
      results.push_back({*std::move(spec), {}});
      continue;
    }
    absl::StatusOr<ReceivedOutput> output = FindOutput(desc, response, payload++);
    if (!output.ok()) return output.status();
    absl::StatusOr<Tensor> tensor = client.Gather(response, *std::move(output));
    if (!tensor.ok()) return tensor.status();
    results.push_back({tensor->spec(), *std::move(tensor)});
  }
  return results;
}

}  // namespace

Operation<std::vector<SequenceResult>> ExecuteSequence(ClientImpl& client,
                                                       const OperatorSequence& sequence,
                                                       const CallOptions& options) {
  using Results = std::vector<SequenceResult>;
  const auto take = [&client, outputs = OutputsOf(sequence)](Answer& answer) -> Next<Results> {
    if (!answer.status.ok()) return answer.status;
    v1::ExecuteSequenceResponse header;
    absl::Status parsed = Parse(answer.message, header);
    AddExecution(header.execution(), answer.info);
    if (!parsed.ok()) return parsed;
    return TakeResults(client, outputs, header, answer.message);
  };
  return {client.StartRetries(options, !ChangesItsInputs(sequence)),
          Step<Results>{kExecuteSequence, MakeRequest(sequence), take}};
}

}  // namespace opserve::client_internal
