#include "client/api/execute.h"

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/api/staging.h"
#include "client/wire/large_copy.h"
#include "client/wire/wire.h"
#include "client/wire/wire_tensors.h"

namespace opserve::client_internal {
namespace {

constexpr char kExecute[] = "/opserve.v1.OperatorService/Execute";

// Where the output is in the answer to an Execute.
absl::StatusOr<ReceivedOutput> TakeOutput(Answer& answer) {
  if (!answer.status.ok()) return answer.status;
  v1::ExecuteResponse header;
  absl::StatusOr<ReceivedOutput> output = DecodeOutput(answer.message, header);
  AddExecution(header.execution(), answer.info);
  answer.takes_ring = header.takes_ring();
  return output;
}

// The layout of an output that went to a place.
absl::StatusOr<TensorSpec> TakePlacedOutput(Answer& answer) {
  if (!answer.status.ok()) return answer.status;
  v1::ExecuteResponse header;
  absl::StatusOr<TensorSpec> spec = DecodePlacedOutput(answer.message, header);
  AddExecution(header.execution(), answer.info);
  answer.takes_ring = header.takes_ring();
  return spec;
}

// How a call ends, by the path of its result. What `of_region` is given has ended well.
template <class T>
struct ResultTaker {
  std::function<CallResult<T>(Answer& answer)> of_message;
  std::function<CallResult<T>(TensorSpec spec, StagedCall staged)> of_region;
};

// A call that is large enough for shared memory, and how it ends.
template <class T>
struct LargeCall {
  ClientImpl& client;
  OperatorCall call;
  // nullopt: of the size that the results of such calls have.
  std::optional<uint64_t> result_bytes;
  ResultTaker<T> take;
  Waiter waiter;
};
template <class T>
using SharedCall = std::shared_ptr<const LargeCall<T>>;

uint64_t BytesOf(const LargeCall<Tensor>&, const Tensor& result) { return result.bytes().size(); }
uint64_t BytesOf(const LargeCall<TensorSpec>& large, const TensorSpec&) {
  return *large.result_bytes;
}

template <class T>
void Learn(const LargeCall<T>& large, uint64_t result_bytes, const Answer& answer) {
  large.client.staging().LearnResult(large.call, {result_bytes, answer.takes_ring});
}

// `sends`: of the call in shared memory.
template <class T>
Step<T> InMessage(const SharedCall<T>& large, int sends = 0) {
  const auto then = [large](Answer& answer) -> Next<T> {
    CallResult<T> result = large->take.of_message(answer);
    if (result.ok()) Learn(*large, BytesOf(*large, *result), answer);
    return result;
  };
  return Step<T>{kExecute, MakeRequest(large->call), then, /*may_run_twice=*/true,
                 /*attempts_before=*/sends};
}

// Attempts of which nobody knows whether they have run are not repeated in the same memory, which
// the server may still use; the call goes on in messages, where it has another attempt.
template <class T>
Step<T> InSharedMemory(const SharedCall<T>& large, StagedCall staged, bool is_known) {
  OutgoingMessage request = std::move(staged.request);
  const auto held = std::make_shared<StagedCall>(std::move(staged));
  const auto then = [large, held, is_known](Answer& answer) -> Next<T> {
    absl::StatusOr<TensorSpec> spec = TakePlacedOutput(answer);
    answer.info.path = PayloadPath::kSharedMemory;
    if (!spec.ok()) {
      const bool goes_on = large->client.staging().GoesOnInMessages(spec.status());
      // Other failures are of the memory, and messages are the first attempt without it.
      const bool may_go_on = answer.has_attempts_left || !absl::IsUnavailable(spec.status());
      if (goes_on && may_go_on) return InMessage(large, answer.info.sends);
      return spec.status();
    }
    held->inputs->MarkReusable();
    held->output->MarkReusable();
    // The server takes places that are rounded up; a message tells what there is no room for.
    const absl::StatusOr<uint64_t> bytes = ByteSize(*spec);
    if (!bytes.ok() || *bytes != held->output_bytes) return InMessage(large, answer.info.sends);
    if (!is_known) Learn(*large, held->output_bytes, answer);
    return large->take.of_region(*std::move(spec), std::move(*held));
  };
  return Step<T>{kExecute, std::move(request), then, /*may_run_twice=*/false};
}

template <class T>
Step<T> Choose(const SharedCall<T>& large) {
  Staging& staging = large->client.staging();
  const std::optional<KnownResult> known = staging.ResultOf(large->call);
  std::optional<uint64_t> bytes = large->result_bytes;
  if (!bytes && known) bytes = known->bytes;
  if (!bytes) return InMessage(large);
  std::optional<StagedCall> staged;
  if (known && known->takes_ring && large->waiter == Waiter::kCaller) {
    staged = staging.StageInRing(large->call, *bytes);
  }
  if (!staged) staged = staging.Stage(large->call, *bytes);
  return staged ? InSharedMemory(large, *std::move(staged), known.has_value()) : InMessage(large);
}

template <class T>
Next<T> Begin(ClientImpl& client, const OperatorCall& call, std::optional<uint64_t> result_bytes,
              ResultTaker<T> take, Waiter waiter) {
  Staging& staging = client.staging();
  if (!staging.Suits(call)) {
    return Step<T>{
        kExecute, MakeRequest(call),
        [take = std::move(take.of_message)](Answer& answer) -> Next<T> { return take(answer); }};
  }
  const SharedCall<T> large(new LargeCall<T>{client, call, result_bytes, std::move(take), waiter});
  if (!staging.AsksServer()) return Choose(large);
  return client.WithServerInfo<T>([large](const absl::StatusOr<ServerInfo>& info) -> Next<T> {
    // This is what the call itself would have met.
    const absl::Status& status = info.status();
    if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
        absl::IsCancelled(status)) {
      return status;
    }
    large->client.staging().LearnServer(info);
    return Choose(large);
  });
}

// A result in shared memory, which it keeps.
absl::StatusOr<Tensor> KeepResult(TensorSpec spec, StagedCall staged) {
  const std::span<const std::byte> bytes = staged.output_range().bytes();
  return Tensor::FromShared(std::move(spec), bytes,
                            std::shared_ptr<const PooledRegion>(std::move(staged.output)));
}

}  // namespace

Operation<Tensor> Execute(ClientImpl& client, const OperatorCall& call, const CallOptions& options,
                          Waiter waiter) {
  const auto gather = [&client](Answer& answer) -> absl::StatusOr<Tensor> {
    absl::StatusOr<ReceivedOutput> output = TakeOutput(answer);
    if (!output.ok()) return output.status();
    return client.Gather(answer.message, *std::move(output));
  };
  return {client.StartRetries(options),
          Begin<Tensor>(client, call, std::nullopt, {gather, KeepResult}, waiter)};
}

Operation<TensorSpec> ExecuteInto(ClientImpl& client, const OperatorCall& call,
                                  std::span<std::byte> target, const CallOptions& options,
                                  Waiter waiter) {
  const auto copy = [target](Answer& answer) -> absl::StatusOr<TensorSpec> {
    absl::StatusOr<ReceivedOutput> output = TakeOutput(answer);
    if (!output.ok()) return output.status();
    if (output->bytes != target.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the result, ", ToString(output->spec),
                                                     ", has ", output->bytes,
                                                     " bytes; there is room for ", target.size()));
    }
    answer.message.CopyPayload(output->payload, target.data());
    return std::move(output->spec);
  };
  const auto copy_staged = [target](TensorSpec spec, const StagedCall& staged) {
    CopyPiece(staged.output_range().bytes(), target.data());
    return absl::StatusOr<TensorSpec>(std::move(spec));
  };
  return {client.StartRetries(options),
          Begin<TensorSpec>(client, call, target.size(), {copy, copy_staged}, waiter)};
}

Operation<TensorSpec> ExecuteTo(ClientImpl& client, const OperatorCall& call,
                                const TensorPlace& output, const CallOptions& options) {
  return {
      client.StartRetries(options, !Overlaps(output, call.inputs)),
      Step<TensorSpec>{kExecute, MakeRequest(call, output), [](Answer& answer) -> Next<TensorSpec> {
                         return TakePlacedOutput(answer);
                       }}};
}

}  // namespace opserve::client_internal
