#include "server/execute/sequence_call.h"

#include <memory>
#include <utility>

#include "server/execute/sequence_job.h"
#include "server/wire/received_message.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

class SequenceCallState final : public CallState, private SequenceReply {
 public:
  SequenceCallState(const ExecuteParts& parts, const SequenceValidator& validator, UnaryCall& call)
      : call_(call), job_(parts, validator, *this) {}

  void Start() {
    auto message = std::make_unique<ReceivedMessage>();
    absl::Status status = message->Read(call_.request(), job_.request());
    if (status.ok()) {
      status = job_.Accept(message->payload_bytes(), call_.client(), call_.deadline());
    }
    if (status.ok()) {
      job_.Submit(std::move(message));
    } else {
      job_.Refuse(status);
    }
  }

  void OnCancel() override { job_.Cancel(); }

 private:
  void Send(const v1::ExecuteSequenceResponse& header,
            std::span<const OutgoingPayload> payloads) override {
    call_.Finish(ComposeMessage(header, payloads));
  }
  void Fail(const absl::Status& why) override { call_.Finish(why); }

  UnaryCall& call_;
  SequenceJob job_;
};

}  // namespace

void StartSequence(const ExecuteParts& parts, const SequenceValidator& validator, UnaryCall& call) {
  auto state = std::make_unique<SequenceCallState>(parts, validator, call);
  SequenceCallState& started = *state;
  call.Keep(std::move(state));
  started.Start();
}

}  // namespace opserve
