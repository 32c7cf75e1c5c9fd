#include "server/execute_call.h"

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/client_identity.h"
#include "server/errors.h"
#include "server/received_message.h"
#include "server/rpc_status.h"
#include "server/wire.h"
#include "server/wire_message.h"

namespace opserve {
namespace {

using std::chrono::seconds;

// gRPC tells deadlines in calendar time; all else here is monotonic.
Clock::TimePoint DeadlineOf(const grpc::CallbackServerContext& context, Clock::TimePoint now) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return Clock::kNever;
  const Clock::Duration left = deadline - std::chrono::system_clock::now();
  return left < Clock::kNever - now ? now + left : Clock::kNever;
}

std::string ClientOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto name = metadata.find(kClientNameKey);
  const absl::string_view text = name == metadata.end()
                                     ? absl::string_view()
                                     : absl::string_view(name->second.data(), name->second.size());
  return ClientIdentity(context.peer(), text);
}

// gRPC owns the call from its creation until OnDone, which comes after the one call of Finish;
// until then `response` stays where it is.
class ExecuteCall final : public grpc::ServerUnaryReactor, public Job {
 public:
  ExecuteCall(const ExecuteParts& parts, grpc::ByteBuffer& response)
      : parts_(parts), response_bytes_(response) {}

  // Queues the call, or answers it at once.
  void Start(const grpc::CallbackServerContext& context, const grpc::ByteBuffer& request) {
    absl::Status status = received_.Read(request, request_);
    if (status.ok()) status = Accept(context);
    if (!status.ok()) Refuse(status);
  }

  absl::StatusOr<DeviceCall> Prepare() override {
    if (!call_) {
      try {
        const auto payloads = received_.Payloads(parts_.buffers);
        output_ = std::make_shared<HostBuffer>(parts_.buffers.Take(invocation_->output_bytes));
        call_ = {invocation_.get(), InputsOf(payloads, *invocation_), output_->data()};
      } catch (const std::bad_alloc&) {
        return MakeRetryableError(ErrorReason::OUT_OF_MEMORY,
                                  "There is not enough memory for the tensors.", seconds(1));
      }
    }
    return *call_;
  }

  void Answer(const RunRecord& record) override {
    v1::ExecuteResponse header;
    WriteResponseHeader(request_, *invocation_, record, header);
    const OutgoingPayload payload = {output_->data(), invocation_->output_bytes, output_};
    response_bytes_ = ComposeMessage(header, {&payload, 1});
    output_.reset();
    // The next request finds these buffers warm.
    received_.ReleasePayloads();
    LogAnswer(record);
    Finish(grpc::Status::OK);
  }

  void Refuse(const absl::Status& why) override {
    LogRefusal(why);
    Finish(ToGrpcStatus(why));
  }

  // Called after Start has returned, and never once the call is done.
  void OnCancel() override { parts_.pool.Cancel(*this); }

  void OnDone() override { delete this; }

 private:
  absl::Status Accept(const grpc::CallbackServerContext& context) {
    const std::vector<uint64_t> payload_bytes = received_.payload_bytes();
    const RequestHeader header = HeaderOf(request_, payload_bytes);
    auto invocation = parts_.validator.Validate(header);
    if (!invocation.ok()) return invocation.status();
    invocation_ = *std::move(invocation);

    JobTraits traits;
    traits.lane = LaneKeyOf(*invocation_);
    traits.bytes = invocation_->output_bytes;
    for (const uint64_t bytes : payload_bytes) traits.bytes += bytes;
    auto permit = parts_.admission.Admit(traits.bytes);
    if (!permit.ok()) return permit.status();
    permit_ = *std::move(permit);

    traits.client = ClientOf(context);
    traits.priority = PriorityOf(header);
    traits.placement = PlacementOf(header, parts_.options.placement);
    traits.verify = header.verify;
    traits.accepted = parts_.clock.Now();
    traits.deadline = DeadlineOf(context, traits.accepted);
    set_traits(std::move(traits));
    // From here on another thread may answer at any time; this object lives until Start has
    // returned.
    return parts_.pool.Submit(*this) ? absl::OkStatus() : DrainingError();
  }

  void LogAnswer(const RunRecord& record) const {
    Logger& logger = parts_.logger;
    if (!logger.enabled(LogLevel::kDebug)) return;
    logger.Log(LogLevel::kDebug, "request answered",
               {{"id", request_.request_id()},
                {"operator", request_.operator_()},
                {"output_bytes", invocation_->output_bytes},
                {"queued_ns", record.queued.count()},
                {"run_ns", record.ran.count()},
                {"batch_size", record.batch_size},
                {"device", record.device}});
  }

  void LogRefusal(const absl::Status& status) const {
    Logger& logger = parts_.logger;
    if (!logger.enabled(LogLevel::kInfo)) return;
    const std::optional<uint64_t> held_back = parts_.refusals.Pass();
    if (!held_back) return;
    logger.Log(LogLevel::kInfo, "request refused",
               {{"id", TruncateUtf8(request_.request_id(), kMaxRequestIdBytes)},
                {"operator", TruncateUtf8(request_.operator_(), 64)},
                {"code", absl::StatusCodeToString(status.code())},
                {"message", status.message()},
                {"not_logged", *held_back}});
  }

  const ExecuteParts& parts_;
  grpc::ByteBuffer& response_bytes_;
  v1::ExecuteRequest request_;
  ReceivedMessage received_;
  std::shared_ptr<const Invocation> invocation_;
  std::shared_ptr<HostBuffer> output_;
  std::optional<DeviceCall> call_;
  Admission::Permit permit_;
};

}  // namespace

grpc::ServerUnaryReactor* StartExecute(const ExecuteParts& parts,
                                       const grpc::CallbackServerContext& context,
                                       const grpc::ByteBuffer& request,
                                       grpc::ByteBuffer& response) {
  auto* const call = new ExecuteCall(parts, response);
  call->Start(context, request);
  return call;
}

}  // namespace opserve
