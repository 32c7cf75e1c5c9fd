#include "tests/bench/wire/client_load.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/api/staging.h"
#include "opserve/client.h"
#include "opserve/stream.h"
#include "proto/base/mutex.h"

namespace opserve::wire_bench {
namespace {

class ClientLoad {
 public:
  // With a stream, calls go there.
  ClientLoad(Client& client, ExecuteStream* stream, const Payload& payload, Meter& meter)
      : client_(client), stream_(stream), payload_(payload), meter_(meter) {
    const auto count = static_cast<uint32_t>(payload.size() / sizeof(float));
    call_.inputs.emplace_back(TensorSpec{DataType::kFloat32, {count}},
                              std::as_bytes(payload.bytes()));
  }

  absl::Status Run(int concurrency) {
    std::vector<std::thread> others;
    for (int i = 1; i < concurrency; ++i) others.emplace_back([this] { Call(); });
    Call();
    for (std::thread& other : others) other.join();
    const MutexLock lock(mutex_);
    if (status_.ok() && stream_ == nullptr &&
        payload_.size() >= client_internal::Staging::kLeastBytes && !was_shared_) {
      return absl::InternalError("no call went through shared memory");
    }
    return status_;
  }

 private:
  // Calls until there is enough, or something is wrong.
  void Call() {
    bool is_first = true;
    for (bool more = true; more; is_first = false) {
      const SteadyClock::time_point began = SteadyClock::now();
      ExecutionInfo info;
      const absl::StatusOr<Tensor> output = CallOnce(info);
      const SteadyClock::time_point ended = SteadyClock::now();
      more = Note(began, ended, output.status(), info);
      if (!output.ok()) return;
      absl::Status right = Check(*output, is_first || !more);
      if (right.ok()) continue;
      more = false;
      const MutexLock lock(mutex_);
      status_.Update(std::move(right));
    }
  }

  absl::StatusOr<Tensor> CallOnce(ExecutionInfo& info) {
    if (stream_ != nullptr) return stream_->Start(call_, absl::Minutes(1)).Wait();
    return client_.Execute(call_, {.timeout = absl::Minutes(1)}, &info);
  }

  // Whether to go on.
  bool Note(SteadyClock::time_point began, SteadyClock::time_point ended,
            const absl::Status& status, const ExecutionInfo& info) {
    const MutexLock lock(mutex_);
    status_.Update(status);
    was_shared_ |= info.path == PayloadPath::kSharedMemory;
    return meter_.Done(began, ended) && status_.ok();
  }

  absl::Status Check(const Tensor& output, bool all) const {
    const uint64_t bytes = all ? payload_.size() : std::min<uint64_t>(payload_.size(), 64);
    const uint64_t first = payload_.size() - bytes;
    if (output.bytes().size() == payload_.size() &&
        std::memcmp(output.bytes().data() + first, payload_.expected().data() + first, bytes) ==
            0) {
      return absl::OkStatus();
    }
    return absl::InternalError("a result of the client is wrong");
  }

  Client& client_;
  ExecuteStream* const stream_;
  const Payload& payload_;
  OperatorCall call_ = {.operator_name = "ELEMENT_WISE_ROUND",
                        .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}}};
  Mutex mutex_;
  Meter& meter_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool was_shared_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::Status RunClientLoad(const std::string& target, const Payload& payload, int concurrency,
                           Meter& meter) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(target);
  if (!client.ok()) return client.status();
  return ClientLoad(**client, nullptr, payload, meter).Run(concurrency);
}

absl::Status RunClientStreamLoad(const std::string& target, const Payload& payload, int concurrency,
                                 Meter& meter) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(target);
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::unique_ptr<ExecuteStream>> stream = (*client)->OpenStream();
  if (!stream.ok()) return stream.status();
  return ClientLoad(**client, stream->get(), payload, meter).Run(concurrency);
}

}  // namespace opserve::wire_bench
