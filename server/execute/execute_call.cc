#include "server/execute/execute_call.h"

#include <memory>
#include <string>
#include <utility>

#include "server/wire/received_message.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

class ExecuteCall final : public CallState, private ExecuteReply {
 public:
  ExecuteCall(const ExecuteParts& parts, UnaryCall& call) : call_(call), job_(parts, *this) {}

  void Start() { StartJob(job_, call_.request(), {.deadline = call_.deadline()}); }

  void OnCancel() override { job_.Cancel(); }

 private:
  std::string client() override { return call_.client(); }
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

void StartJob(ExecuteJob& job, grpc::ByteBuffer& request, const JobOrigin& origin) {
  auto message = std::make_unique<ReceivedMessage>();
  absl::Status status = message->Read(request, job.request());
  if (status.ok()) status = job.Accept(message->payload_bytes(), origin);
  if (status.ok()) {
    job.Submit(std::move(message));
  } else {
    job.Refuse(status);
  }
}

}  // namespace opserve
