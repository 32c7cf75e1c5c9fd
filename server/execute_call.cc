#include "server/execute_call.h"

#include <memory>
#include <utility>

#include "server/received_message.h"
#include "server/wire_message.h"

namespace opserve {
namespace {

class ExecuteCall final : public CallState, private ExecuteReply {
 public:
  ExecuteCall(const ExecuteParts& parts, UnaryCall& call) : call_(call), job_(parts, *this) {}

  void Start() {
    auto message = std::make_unique<ReceivedMessage>();
    absl::Status status = message->Read(call_.request(), job_.request());
    if (status.ok()) {
      status = job_.Accept(message->payload_bytes(), {.client = [this] { return call_.client(); },
                                                      .deadline = call_.deadline()});
    }
    if (status.ok()) {
      job_.Submit(std::move(message));
    } else {
      job_.Refuse(status);
    }
  }

  void OnCancel() override { job_.Cancel(); }

 private:
  void Send(const v1::ExecuteResponse& header, OutgoingPayload payload) override {
    call_.Finish(ComposeMessage(header, {&payload, 1}));
  }
  void Fail(const absl::Status& why) override { call_.Finish(why); }

  UnaryCall& call_;
  ExecuteJob job_;
};

}  // namespace

void StartExecute(const ExecuteParts& parts, UnaryCall& call) {
  auto state = std::make_unique<ExecuteCall>(parts, call);
  ExecuteCall& started = *state;
  call.Keep(std::move(state));
  started.Start();
}

}  // namespace opserve
