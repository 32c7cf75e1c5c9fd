#include "server/execute/unary_execute.h"

#include <span>
#include <string>

#include "server/execute/execute_job.h"
#include "server/execute/sequence_job.h"
#include "server/rpc/unary_call.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

// A unary call and its job, which is an ExecuteJob or a SequenceJob.
template <class AnyJob>
class UnaryExecute final : public CallHandler, private AnyJob::Reply {
 public:
  UnaryExecute(UnaryCall& call, const ExecuteParts& parts) : call_(call), job_(parts, *this) {}

  void Start() { job_.Start(call_.request(), {.deadline = call_.deadline(), .takes_ring = true}); }

  void OnCancel() override { job_.Cancel(); }

 private:
  const Caller& caller() const override { return call_.caller(); }
  void Send(const typename AnyJob::Response& header, std::span<OutgoingPayload> payloads) override {
    call_.Finish(ComposeMessage(header, payloads));
  }
  void Fail(const absl::Status& why) override { call_.Finish(why); }
  RequestRecord* record() override { return call_.record(); }

  UnaryCall& call_;
  AnyJob job_;
};

}  // namespace

void AddUnaryExecute(RpcService& rpc, const MethodLimits& limits, const ExecuteParts& parts) {
  rpc.AddUnary("Execute", limits,
               [&parts](UnaryCall& call) { call.Keep<UnaryExecute<ExecuteJob>>(parts).Start(); });
  rpc.AddUnary("ExecuteSequence", limits,
               [&parts](UnaryCall& call) { call.Keep<UnaryExecute<SequenceJob>>(parts).Start(); });
}

}  // namespace opserve
