#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "tests/bench/wire/placed_calls.h"
#include "tests/bench/wire/shared_region.h"

namespace opserve::wire_bench {
namespace {

// The input, and behind it a result for each call.
class SharedMemory : public RawUnaryCall {
 public:
  explicit SharedMemory(const Payload& payload)
      : payload_(payload), stride_((payload.size() + kAlignment - 1) / kAlignment * kAlignment) {}

  absl::Status Share(const std::string& socket, int concurrency) {
    const auto places = static_cast<uint64_t>(concurrency) + 1;
    absl::Status status = region_.Register(socket, places * stride_);
    if (!status.ok()) return status;
    std::copy(payload_.bytes().begin(), payload_.bytes().end(), region_.data());
    v1::ExecuteRequest request = RoundRequest(payload_.size());
    Place(0, *request.add_input_places()->mutable_region());
    for (uint64_t i = 1; i < places; ++i) {
      Place(i, *request.mutable_output_place()->mutable_region());
      requests_.push_back(Serialized(request));
    }
    return absl::OkStatus();
  }

  std::string method() const override { return "/opserve.v1.OperatorService/Execute"; }
  const grpc::ByteBuffer& request(size_t slot) const override { return requests_[slot]; }
  uint64_t payload_bytes() const override { return payload_.size(); }

  absl::Status Check(const grpc::ByteBuffer& answer, Part /*part*/) const override {
    return CheckPlacedAnswer(answer, payload_.size());
  }

  absl::Status CheckResults() const override {
    for (size_t i = 1; i <= requests_.size(); ++i) {
      if (std::memcmp(region_.data() + i * stride_, payload_.expected().data(), payload_.size()) !=
          0) {
        return absl::InternalError("a result in shared memory is wrong");
      }
    }
    return absl::OkStatus();
  }

 private:
  // What the contract wants of results.
  static constexpr uint64_t kAlignment = 64;

  void Place(uint64_t place, v1::RegionRange& range) const {
    range.set_region(region_.id());
    range.set_offset(place * stride_);
    range.set_bytes(payload_.size());
  }

  const Payload& payload_;
  const uint64_t stride_;
  SharedRegion region_;
  std::vector<grpc::ByteBuffer> requests_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeSharedMemory(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      v1::OperatorService::NewStub(channel)->GetServerInfo(&context, {}, &info);
  if (!status.ok()) return absl::InternalError(status.error_message());
  if (!info.has_shared_memory()) {
    return absl::FailedPreconditionError("the server shares no memory");
  }
  auto call = std::make_unique<SharedMemory>(payload);
  absl::Status shared = call->Share(info.shared_memory().socket(), concurrency);
  if (!shared.ok()) return shared;
  return std::unique_ptr<RawUnaryCall>(std::move(call));
}

}  // namespace opserve::wire_bench
