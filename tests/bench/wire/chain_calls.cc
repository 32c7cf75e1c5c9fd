#include "tests/bench/wire/chain_calls.h"

#include <array>
#include <utility>
#include <vector>

#include "tests/bench/wire/chain.h"
#include "tests/bench/wire/received_bytes.h"

namespace opserve::wire_bench {
namespace {

constexpr int kRequestPayload = v1::ExecuteRequest::kPayloadsFieldNumber;
constexpr int kAnswerPayload = v1::ExecuteResponse::kPayloadFieldNumber;

// Sets the operator of a step or of a request, and its attribute.
template <class Message>
void SetOperator(const ChainStep& step, Message& message) {
  if (step.divisor != 0) {
    message.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
    return;
  }
  message.set_operator_("ELEMENT_WISE_ROUND");
  v1::Attribute& mode = *message.add_attributes();
  mode.set_name("RoundingMode");
  mode.set_enum_name(std::string(step.rounding_mode));
}

// One number in place of each of a vector's elements.
v1::TensorDesc DivisorDesc(uint64_t bytes) {
  v1::TensorDesc desc = Float32Desc(bytes);
  desc.add_strides(0);
  return desc;
}

std::string BytesOf(float value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// What is around the tensor in the request of one step.
struct Envelope {
  Envelope(const ChainStep& step, uint64_t payload_bytes) {
    v1::ExecuteRequest request;
    SetOperator(step, request);
    *request.add_inputs() = Float32Desc(payload_bytes);
    if (step.divisor != 0) {
      *request.add_inputs() = DivisorDesc(payload_bytes);
      tail = WithField("", kRequestPayload, sizeof(float)) + BytesOf(step.divisor);
    }
    head = WithField(request.SerializeAsString(), kRequestPayload, payload_bytes);
  }

  grpc::ByteBuffer Around(std::vector<grpc::Slice> tensor) const {
    tensor.insert(tensor.begin(), grpc::Slice(head));
    if (!tail.empty()) tensor.emplace_back(tail);
    return grpc::ByteBuffer(tensor.data(), tensor.size());
  }

  std::string head;
  std::string tail;
};

class CallsOfChain : public RawUnaryCall {
 public:
  explicit CallsOfChain(const Payload& payload) : payload_(payload) {
    for (const ChainStep& step : kChain) envelopes_.emplace_back(step, payload.size());
    first_ = envelopes_.front().Around(
        {grpc::Slice(payload.bytes().data(), payload.size(), grpc::Slice::STATIC_SLICE)});
  }

  std::string method() const override { return "/opserve.v1.OperatorService/Execute"; }
  const grpc::ByteBuffer& request(size_t /*slot*/) const override { return first_; }
  uint64_t payload_bytes() const override { return payload_.size(); }

  absl::StatusOr<std::optional<grpc::ByteBuffer>> Next(
      size_t step, const grpc::ByteBuffer& answer) const override {
    if (step + 1 == envelopes_.size()) return std::nullopt;
    const ReceivedBytes received(answer);
    const auto offset = FindPayload(received, kAnswerPayload, payload_.size());
    if (!offset.ok()) return offset.status();
    return envelopes_[step + 1].Around(received.From(*offset));
  }

  absl::Status Check(const grpc::ByteBuffer& answer, Part part) const override {
    return CheckAnswer(answer, kAnswerPayload, payload_.expected(), part);
  }

 private:
  const Payload& payload_;
  std::vector<Envelope> envelopes_;  // per step
  grpc::ByteBuffer first_;
};

}  // namespace

v1::ExecuteSequenceRequest ChainRequest(uint64_t payload_bytes) {
  v1::ExecuteSequenceRequest request;
  *request.add_inputs() = Float32Desc(payload_bytes);
  request.add_input_places();
  for (const ChainStep& step : kChain) {
    const int number = request.steps_size();
    v1::SequenceStep& added = *request.add_steps();
    SetOperator(step, added);
    v1::StepInput& source = *added.add_inputs();
    if (number == 0) {
      source.set_input(0);
    } else {
      source.set_step(static_cast<uint32_t>(number - 1));
    }
    if (step.divisor == 0) continue;
    added.add_inputs()->set_input(static_cast<uint32_t>(request.inputs_size()));
    *request.add_inputs() = DivisorDesc(payload_bytes);
    request.add_input_places();
    request.add_payloads(BytesOf(step.divisor));
  }
  request.add_outputs()->set_step(kChain.size() - 1);
  return request;
}

std::unique_ptr<RawUnaryCall> MakeCallsOfChain(const Payload& payload) {
  return std::make_unique<CallsOfChain>(payload);
}

}  // namespace opserve::wire_bench
