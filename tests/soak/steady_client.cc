#include "tests/soak/steady_client.h"

#include <algorithm>
#include <array>
#include <future>
#include <span>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "opserve/stream.h"

namespace opserve::testing {
namespace {

constexpr uint32_t kCount = 1000;
constexpr uint64_t kBytes = kCount * sizeof(float);
// About what a small call takes.
constexpr absl::Duration kHardlyEnough = absl::Microseconds(300);
// Tensors of killed clients are gone after it.
constexpr absl::Duration kLease = absl::Seconds(1);

const std::vector<float>& Values() {
  static const auto& values = *new std::vector<float>(kCount, 2.5f);
  return values;
}

TensorView Input() { return TensorView::Of<float>(Values(), {kCount}); }

OperatorCall Round(TensorView input) {
  return {.operator_name = "ELEMENT_WISE_ROUND",
          .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
          .inputs = {std::move(input)}};
}

// Whether these are the rounded values.
absl::Status Check(std::span<const float> result) {
  const bool is_right =
      result.size() == kCount && std::ranges::all_of(result, [](float x) { return x == 2; });
  return is_right ? absl::OkStatus() : absl::DataLossError("a wrong result");
}

absl::Status Check(const Tensor& result) {
  const absl::StatusOr<std::span<const float>> values = result.Elements<float>();
  return values.ok() ? Check(*values) : values.status();
}

absl::Status Check(const absl::StatusOr<Tensor>& result) {
  return result.ok() ? Check(*result) : result.status();
}

}  // namespace

absl::Status SteadyClient::Plain() { return Check(client_->Execute(Round(Input()))); }

absl::Status SteadyClient::Stream() {
  const auto stream = client_->OpenStream({.piece_bytes = 1024});
  if (!stream.ok()) return stream.status();
  std::array<std::future<absl::StatusOr<Tensor>>, 3> results;
  for (auto& result : results) result = (*stream)->SubmitFuture(Round(Input()));
  // It may be answered before.
  (*stream)->Cancel((*stream)->Submit(Round(Input()), [](const auto&, const auto&) {}));
  for (auto& result : results) {
    if (absl::Status status = Check(result.get()); !status.ok()) return status;
  }
  return (*stream)->Finish();
}

absl::Status SteadyClient::Region() {
  const auto region = client_->CreateRegion(kBytes);
  if (!region.ok()) return region.status();
  const RegionRange range = region->range(0, kBytes);
  std::ranges::copy(Values(), range.values<float>().begin());
  const TensorView input = TensorView::At(range, TensorSpec{DataType::kFloat32, {kCount}, {}});
  const auto result = client_->ExecuteTo(Round(input), range);
  return result.ok() ? Check(range.values<float>()) : result.status();
}

absl::Status SteadyClient::Resident() {
  const auto lease = client_->CreateTensor(Input(), {.ttl = kLease});
  if (!lease.ok()) return lease.status();
  const auto result = client_->ExecuteTo(Round(TensorView::At(lease->handle)), lease->handle);
  // On a busy machine the lease may be over by now.
  if (absl::IsNotFound(result.status())) return absl::OkStatus();
  if (!result.ok()) return result.status();
  const auto read = client_->ReadTensor(lease->handle);
  if (absl::IsNotFound(read.status())) return absl::OkStatus();
  const auto deleted = client_->DeleteTensors({lease->handle});
  return deleted.ok() ? Check(read) : deleted.status();
}

absl::Status SteadyClient::Sequence() {
  const auto result = client_->ExecuteSequence(
      {.inputs = {Input()},
       .steps = {{.operator_name = "ELEMENT_WISE_ROUND",
                  .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
                  .inputs = {FromInput(0)}},
                 {.operator_name = "ELEMENT_WISE_MODULUS_TRUNCATE",
                  .inputs = {FromStep(0), FromInput(0)}}}});
  // 2 modulo 2.5.
  return result.ok() ? Check(*result->front().tensor) : result.status();
}

absl::Status SteadyClient::Refused() {
  OperatorCall call = Round(Input());
  call.attributes.front().value.emplace<std::string>("UPWARDS");
  const absl::Status status = client_->Execute(call).status();
  if (absl::IsInvalidArgument(status)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("a wrong call was not refused: ", status.ToString()));
}

absl::Status SteadyClient::Late() {
  absl::Status status = Check(client_->Execute(Round(Input()), {.timeout = kHardlyEnough}));
  if (!status.ok() && !absl::IsDeadlineExceeded(status)) return status;
  return Plain();
}

absl::Status SteadyClient::Gpu() {
  OperatorCall call = Round(Input());
  call.device = DevicePreference::kGpu;
  ExecutionInfo info;
  const auto result = client_->Execute(call, {}, &info);
  if (result.ok() && !absl::StartsWith(info.device, "d3d12/")) {
    return absl::DataLossError(absl::StrCat("a call for a GPU ran on ", info.device));
  }
  return Check(result);
}

absl::Status SteadyClient::Turn(absl::string_view kind) {
  struct Kind {
    absl::string_view name;
    absl::Status (SteadyClient::*turn)();
  };
  static constexpr std::array<Kind, 8> kKinds = {{{"plain", &SteadyClient::Plain},
                                                  {"stream", &SteadyClient::Stream},
                                                  {"region", &SteadyClient::Region},
                                                  {"resident", &SteadyClient::Resident},
                                                  {"sequence", &SteadyClient::Sequence},
                                                  {"refused", &SteadyClient::Refused},
                                                  {"late", &SteadyClient::Late},
                                                  {"gpu", &SteadyClient::Gpu}}};
  // All but the last.
  if (kind == "mixed") return (this->*kKinds[turns_++ % (kKinds.size() - 1)].turn)();
  for (const Kind& known : kKinds) {
    if (known.name == kind) return (this->*known.turn)();
  }
  return absl::InvalidArgumentError(absl::StrCat("there are no turns called ", kind));
}

}  // namespace opserve::testing
