#include "opserve/stream.h"

#include <utility>
#include <vector>

#include "client/api/future.h"
#include "client/stream/stream_core.h"

namespace opserve {

ExecuteStream::ExecuteStream(std::shared_ptr<client_internal::StreamCore> core,
                             const StreamOptions& options)
    : core_(std::move(core)), finish_timeout_(options.finish_timeout) {}

ExecuteStream::~ExecuteStream() { Finish(finish_timeout_).IgnoreError(); }

uint64_t ExecuteStream::Submit(const OperatorCall& call, ExecuteCallback done,
                               std::optional<absl::Duration> timeout) {
  return core_->Submit(call, std::move(done), timeout);
}

uint64_t ExecuteStream::Submit(const OperatorSequence& sequence, SequenceCallback done,
                               std::optional<absl::Duration> timeout) {
  return core_->Submit(sequence, std::move(done), timeout);
}

template <class Result, class Request>
Call<Result> ExecuteStream::StartAny(const Request& request,
                                     std::optional<absl::Duration> timeout) {
  auto state = std::make_shared<client_internal::CallState<Result>>();
  const uint64_t id = Submit(
      request,
      [state](absl::StatusOr<Result> output, const ExecutionInfo& info) {
        state->Finish(std::move(output), info);
      },
      timeout);
  state->OnCancel([weak = std::weak_ptr(core_), id] {
    if (const auto core = weak.lock()) core->Cancel(id);
  });
  return Call<Result>(std::move(state));
}

Call<Tensor> ExecuteStream::Start(const OperatorCall& call, std::optional<absl::Duration> timeout) {
  return StartAny<Tensor>(call, timeout);
}

Call<std::vector<SequenceResult>> ExecuteStream::Start(const OperatorSequence& sequence,
                                                       std::optional<absl::Duration> timeout) {
  return StartAny<std::vector<SequenceResult>>(sequence, timeout);
}

std::future<absl::StatusOr<Tensor>> ExecuteStream::SubmitFuture(
    const OperatorCall& call, std::optional<absl::Duration> timeout) {
  return client_internal::ToFuture(Start(call, timeout));
}

void ExecuteStream::Cancel(uint64_t id) { core_->Cancel(id); }

absl::Status ExecuteStream::Finish(absl::Duration timeout) { return core_->Finish(timeout); }

}  // namespace opserve
