#include "client/cli/shared_run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/calls.h"
#include "client/cli/result_layout.h"

namespace opserve::cli {
namespace {

// Bytes of a tensor with the gap to the next multiple of 64, where a result may start.
uint64_t Padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

absl::StatusOr<SharedRegion> CreateRegion(Client& client, uint64_t bytes) {
  absl::StatusOr<SharedRegion> region = client.CreateRegion(bytes);
  if (!absl::IsUnavailable(region.status())) return region;
  return absl::FailedPreconditionError(
      absl::StrCat("--shared-memory needs a server on this machine: ", region.status().message()));
}

// Moves the inputs that travel to `region`, from its start on.
void MoveInputs(const SharedRegion& region, OperatorCall& call) {
  uint64_t offset = 0;
  for (TensorView& input : call.inputs) {
    if (input.place()) continue;
    const RegionRange range = region.range(offset, input.bytes().size());
    std::copy(input.bytes().begin(), input.bytes().end(), range.bytes().begin());
    offset += Padded(range.size());
    input = TensorView::At(range, input.spec()).set_name(input.name());
  }
}

absl::StatusOr<TensorSpec> LayoutAtServer(Client& client, OperatorCall call) {
  absl::Status completed = CompleteResidentInputs(client, /*all=*/true, call);
  if (!completed.ok()) return completed;
  const absl::StatusOr<Catalogue> catalogue =
      client.ListOperators(call.operator_name, call.feature_level);
  if (!catalogue.ok()) return catalogue.status();
  if (catalogue->operators.empty()) return absl::NotFoundError("the server lists no such operator");
  return ResultLayout(catalogue->operators[0], call);
}

// The tensor in a range of a region, which lives as long as the tensor.
absl::StatusOr<Tensor> TensorIn(const RegionRange& range, TensorSpec spec) {
  return Tensor::FromShared(std::move(spec), range.bytes(), std::make_shared<RegionRange>(range));
}

}  // namespace

absl::StatusOr<SequenceResult> ExecuteShared(Client& client, OperatorCall call,
                                             const std::optional<TensorHandle>& output,
                                             ExecutionInfo* info) {
  uint64_t input_bytes = 0;
  for (const TensorView& input : call.inputs) input_bytes += Padded(input.bytes().size());
  uint64_t output_bytes = 0;
  if (!output) {
    const absl::StatusOr<TensorSpec> layout = LayoutAtServer(client, call);
    if (!layout.ok()) return layout.status();
    const absl::StatusOr<uint64_t> bytes = ByteSize(*layout);
    if (!bytes.ok()) return bytes.status();
    output_bytes = *bytes;
  }
  const absl::StatusOr<SharedRegion> region =
      CreateRegion(client, std::max<uint64_t>(input_bytes + output_bytes, 1));
  if (!region.ok()) return region.status();
  MoveInputs(*region, call);
  const RegionRange range = region->range(input_bytes, output_bytes);
  absl::StatusOr<TensorSpec> spec =
      client.ExecuteTo(call, output ? TensorPlace(*output) : TensorPlace(range), {}, info);
  if (!spec.ok()) return spec.status();
  if (output) return SequenceResult{*std::move(spec), {}};
  absl::StatusOr<Tensor> tensor = TensorIn(range, *spec);
  if (!tensor.ok()) return tensor.status();
  return SequenceResult{*std::move(spec), *std::move(tensor)};
}

}  // namespace opserve::cli
