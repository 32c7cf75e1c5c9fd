#include "server/kserve/infer_call.h"

#include "server/kserve/infer_job.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

class InferCall final : public CallHandler, private InferJob::Owner {
 public:
  InferCall(UnaryCall& call, const ExecuteParts& parts, const SystemMemory& memory)
      : call_(call), job_(parts, memory, *this) {}

  void Start() { job_.Start(call_.request(), call_.deadline()); }

  void OnCancel() override { job_.Cancel(); }

 private:
  const Caller& caller() const override { return call_.caller(); }
  void OnInferred(const inference::ModelInferResponse& response, OutgoingPayload payload) override {
    call_.Finish(ComposeMessage(response, {&payload, 1}, kRawOutputField));
  }
  void OnRefused(const absl::Status& why) override { call_.Finish(why); }
  RequestRecord* record() override { return call_.record(); }

  UnaryCall& call_;
  InferJob job_;
};

}  // namespace

void StartInfer(const ExecuteParts& parts, const SystemMemory& memory, UnaryCall& call) {
  call.Keep<InferCall>(parts, memory).Start();
}

}  // namespace opserve
