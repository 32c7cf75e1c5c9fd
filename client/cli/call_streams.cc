#include "client/cli/call_streams.h"

#include <future>
#include <utility>

namespace opserve::cli {

absl::Status CallStreams::Open(Client& client, int count, const std::string& host) {
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<ExecuteStream>> stream = client.OpenStream({.host = host});
    if (!stream.ok()) return stream.status();
    streams_.push_back(*std::move(stream));
  }
  return absl::OkStatus();
}

template <class Result, class Request>
absl::StatusOr<Result> CallStreams::ExecuteAny(const Request& request, ExecutionInfo* info) {
  std::promise<absl::StatusOr<Result>> promise;
  std::future<absl::StatusOr<Result>> output = promise.get_future();
  streams_[next_++ % streams_.size()]->Submit(
      request, [promise = std::move(promise), info](absl::StatusOr<Result> result,
                                                    const ExecutionInfo& how) mutable {
        *info = how;
        promise.set_value(std::move(result));
      });
  return output.get();
}

absl::StatusOr<Tensor> CallStreams::Execute(const OperatorCall& call, ExecutionInfo* info) {
  return ExecuteAny<Tensor>(call, info);
}

absl::StatusOr<std::vector<SequenceResult>> CallStreams::Execute(const OperatorSequence& sequence,
                                                                 ExecutionInfo* info) {
  return ExecuteAny<std::vector<SequenceResult>>(sequence, info);
}

}  // namespace opserve::cli
