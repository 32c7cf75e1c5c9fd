#include "tests/bench/wire/unary_load.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"  // generated messages as gRPC messages

namespace opserve::wire_bench {
namespace {

constexpr std::chrono::seconds kLongestCall(60);

// One of the calls that are under way.
template <class Message>
struct UnarySlot {
  size_t number = 0;
  size_t step = 0;  // of the round
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Message>> reader;
  Message answer;
  grpc::Status status;
  SteadyClock::time_point began;
};

template <class Message>
class UnaryLoad {
 public:
  UnaryLoad(const std::shared_ptr<grpc::Channel>& channel, const UnaryCall<Message>& call,
            Meter& meter, const Metadata& metadata)
      : stub_(channel), call_(call), method_(call.method()), meter_(meter), metadata_(metadata) {}

  absl::Status Run(int concurrency) {
    std::vector<UnarySlot<Message>> slots(static_cast<size_t>(concurrency));
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].number = i;
      Start(slots[i]);
    }
    absl::Status status;
    while (under_way_ > 0) {
      UnarySlot<Message>* const slot = Next();
      if (slot == nullptr) {
        // Calls that never end hold the slots: nothing to do but to give up.
        for (UnarySlot<Message>& lost : slots) lost.context->TryCancel();
        status.Update(absl::DeadlineExceededError("no answer for a minute"));
        continue;
      }
      status.Update(Finish(*slot, status.ok()));
    }
    queue_.Shutdown();
    if (status.ok()) status = call_.CheckResults();
    return status;
  }

 private:
  void Start(UnarySlot<Message>& slot) {
    slot.step = 0;
    slot.began = SteadyClock::now();
    Send(slot, call_.request(slot.number));
  }

  void Send(UnarySlot<Message>& slot, const Message& request) {
    slot.reader.reset();
    slot.context.emplace();
    for (const auto& [key, value] : metadata_) slot.context->AddMetadata(key, value);
    slot.reader = stub_.PrepareUnaryCall(&*slot.context, method_, request, &queue_);
    slot.reader->StartCall();
    slot.reader->Finish(&slot.answer, &slot.status, &slot);
    ++under_way_;
  }

  // The next call that has ended; nullptr after a long wait.
  UnarySlot<Message>* Next() {
    void* tag = nullptr;
    bool ok = false;
    const auto limit = std::chrono::system_clock::now() + kLongestCall;
    if (queue_.AsyncNext(&tag, &ok, limit) != grpc::CompletionQueue::GOT_EVENT) return nullptr;
    return static_cast<UnarySlot<Message>*>(tag);
  }

  absl::Status Finish(UnarySlot<Message>& slot, bool proceed) {
    --under_way_;
    const SteadyClock::time_point now = SteadyClock::now();
    if (!slot.status.ok()) {
      return absl::InternalError(absl::StrCat("a call failed with code ", slot.status.error_code(),
                                              ": ", slot.status.error_message()));
    }
    const auto next = call_.Next(slot.step, slot.answer);
    if (!next.ok()) return next.status();
    if (next->has_value()) {
      ++slot.step;
      if (proceed) Send(slot, **next);
      return absl::OkStatus();
    }
    const bool more = meter_.Done(slot.began, now) && proceed;
    absl::Status right = call_.Check(slot.answer, first_ || !more ? All() : Some());
    first_ = false;
    if (right.ok() && more) Start(slot);
    return right;
  }

  Part All() const { return {0, call_.payload_bytes()}; }

  Part Some() {
    constexpr uint64_t kBytes = 64;
    const uint64_t size = call_.payload_bytes();
    if (size <= kBytes) return All();
    return {random_() % (size - kBytes), kBytes};
  }

  grpc::TemplatedGenericStub<Message, Message> stub_;
  grpc::CompletionQueue queue_;
  const UnaryCall<Message>& call_;
  const std::string method_;
  Meter& meter_;
  const Metadata& metadata_;
  std::minstd_rand random_;
  bool first_ = true;
  int under_way_ = 0;
};

}  // namespace

template <class Message>
absl::Status RunUnaryLoad(const std::shared_ptr<grpc::Channel>& channel,
                          const UnaryCall<Message>& call, int concurrency, Meter& meter,
                          const Metadata& metadata) {
  return UnaryLoad<Message>(channel, call, meter, metadata).Run(concurrency);
}

template absl::Status RunUnaryLoad(const std::shared_ptr<grpc::Channel>&,
                                   const UnaryCall<EchoMessage>&, int, Meter&, const Metadata&);
template absl::Status RunUnaryLoad(const std::shared_ptr<grpc::Channel>&,
                                   const UnaryCall<grpc::ByteBuffer>&, int, Meter&,
                                   const Metadata&);

}  // namespace opserve::wire_bench
