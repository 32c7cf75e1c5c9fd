#include "opserve/stream.h"

#include <utility>

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

std::future<absl::StatusOr<Tensor>> ExecuteStream::SubmitFuture(
    const OperatorCall& call, std::optional<absl::Duration> timeout) {
  auto [done, future] = client_internal::MakeFuture();
  Submit(call, std::move(done), timeout);
  return std::move(future);
}

void ExecuteStream::Cancel(uint64_t id) { core_->Cancel(id); }

absl::Status ExecuteStream::Finish(absl::Duration timeout) { return core_->Finish(timeout); }

}  // namespace opserve
