#include "server/kserve/infer_calls.h"

#include <optional>
#include <string>
#include <utility>

#include "server/kserve/infer_job.h"
#include "server/rpc/message_bytes.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

constexpr absl::string_view kStreamInferMethod = "ModelStreamInfer";
constexpr int kRawField = inference::ModelInferResponse::kRawOutputContentsFieldNumber;

class InferCall final : public CallHandler, private InferJob::Owner {
 public:
  InferCall(UnaryCall& call, const ExecuteParts& parts, const SystemMemory& memory)
      : call_(call), job_(parts, memory, *this) {}

  void Start() { job_.Start(call_.request(), call_.deadline()); }

  void OnCancel() override { job_.Cancel(); }

 private:
  const Caller& caller() const override { return call_.caller(); }
  void OnInferred(const inference::ModelInferResponse& response, OutgoingPayload payload) override {
    call_.Finish(ComposeMessage(response, {&payload, 1}, kRawField));
  }
  void OnRefused(const absl::Status& why) override { call_.Finish(why); }
  RequestRecord* record() override { return call_.record(); }

  UnaryCall& call_;
  InferJob job_;
};

// The poller's thread owns all; the thread that answers only writes, and lets go.
class InferStream final : public StreamHandler, private InferJob::Owner, private RequestSource {
 public:
  InferStream(const ExecuteParts& parts, const SystemMemory& memory, StreamCall& call)
      : parts_(parts),
        memory_(memory),
        call_(call),
        traceparent_(parts.observer == nullptr ? std::string() : call.traceparent()),
        deadline_(call.deadline()) {
    call_.Read();
  }

  void OnMessage(grpc::ByteBuffer& message) override {
    if (is_over_) return;
    record_ = {};
    record_.method = kStreamInferMethod;
    record_.bytes_in = message.Length();
    record_.start = SteadyClock().Now();
    InferJob& job = job_.emplace(parts_, memory_, owner());
    call_.Hold();
    job.Start(message, deadline_);
  }

  void OnMessagesEnd() override {
    is_ending_ = true;
    if (!job_) call_.Finish(absl::OkStatus());
  }

  void OnWritten() override {
    // It held the answer's share of the server until now.
    job_.reset();
    if (is_ending_) {
      call_.Finish(absl::OkStatus());
    } else {
      call_.Read();
    }
  }

  void OnOver() override {
    is_over_ = true;
    if (job_) job_->Cancel();
  }

 private:
  InferJob::Owner& owner() { return *this; }

  const Caller& caller() const override { return call_.caller(); }
  std::string client() const override { return call_.caller().client(); }
  std::string traceparent() const override { return traceparent_; }
  RequestRecord* record() override { return parts_.observer == nullptr ? nullptr : &record_; }

  void OnInferred(const inference::ModelInferResponse& response, OutgoingPayload payload) override {
    call_.Guard([&] { Answer(absl::OkStatus(), ComposeWithin(response, payload)); });
    call_.Release();
  }

  void OnRefused(const absl::Status& why) override {
    call_.Guard([&] {
      inference::ModelStreamInferResponse response;
      response.set_error_message(std::string(why.message()));
      response.mutable_infer_response()->set_id(job_->id());
      Answer(why, SerializeMessage(response));
    });
    call_.Release();
  }

  // `response` with its payload, which is not copied, as the only field of a
  // ModelStreamInferResponse.
  static grpc::ByteBuffer ComposeWithin(const inference::ModelInferResponse& response,
                                        OutgoingPayload& payload) {
    const grpc::ByteBuffer inner = ComposeMessage(response, {&payload, 1}, kRawField);
    std::vector<grpc::Slice> slices;
    if (!inner.Dump(&slices).ok()) return {};
    slices.insert(slices.begin(),
                  FieldPrefix(inference::ModelStreamInferResponse::kInferResponseFieldNumber,
                              inner.Length()));
    return {slices.data(), slices.size()};
  }

  void Answer(const absl::Status& status, const grpc::ByteBuffer& message) {
    if (parts_.observer != nullptr) {
      ReportEnd(*parts_.observer, record_, status, message.Length(), *this);
    }
    call_.Write(message);
  }

  const ExecuteParts& parts_;
  const SystemMemory& memory_;
  StreamCall& call_;
  const std::string traceparent_;
  const Clock::TimePoint deadline_;
  bool is_over_ = false;
  // The client sends no more.
  bool is_ending_ = false;
  RequestRecord record_;
  // Until its answer is on its way.
  std::optional<InferJob> job_;
};

}  // namespace

void StartInfer(const ExecuteParts& parts, const SystemMemory& memory, UnaryCall& call) {
  call.Keep<InferCall>(parts, memory).Start();
}

std::unique_ptr<StreamHandler> StartInferStream(const ExecuteParts& parts,
                                                const SystemMemory& memory, StreamCall& call) {
  return std::make_unique<InferStream>(parts, memory, call);
}

}  // namespace opserve
