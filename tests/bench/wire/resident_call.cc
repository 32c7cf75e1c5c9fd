#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "tests/bench/wire/chain_calls.h"
#include "tests/bench/wire/placed_calls.h"

namespace opserve::wire_bench {
namespace {

using Stub = v1::OperatorService::Stub;

absl::Status StatusOf(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("a call failed with code ", status.error_code(), ": ", status.error_message()));
}

template <class Message>
absl::StatusOr<Message> Parsed(const grpc::ByteBuffer& answer) {
  grpc::Slice slice;
  Message message;
  if (!answer.DumpToSingleSlice(&slice).ok() ||
      !message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    return absl::InternalError("an answer cannot be parsed");
  }
  return message;
}

absl::Status WrongAnswer() { return absl::InternalError("an answer describes another result"); }

// Whether `desc` is that of `bytes` bytes of FLOAT32.
absl::Status CheckDesc(const v1::TensorDesc& desc, uint64_t bytes) {
  const bool is_right = desc.sizes_size() == 1 && desc.sizes(0) == bytes / sizeof(float);
  return is_right ? absl::OkStatus() : WrongAnswer();
}

// A method that works on resident tensors.
struct ResidentMethod {
  const char* name;
  // The request to read `input` and write `output`, tensors of `bytes` bytes.
  grpc::ByteBuffer (*make_request)(uint64_t bytes, const std::string& input,
                                   const std::string& output);
  absl::Status (*check)(const grpc::ByteBuffer& answer, uint64_t bytes);
};

// From one resident tensor to others.
class ResidentCall : public RawUnaryCall {
 public:
  ResidentCall(const ResidentMethod& method, const std::shared_ptr<grpc::Channel>& channel,
               const Payload& payload)
      : method_(method), stub_(v1::OperatorService::NewStub(channel)), payload_(payload) {}

  ~ResidentCall() override {
    v1::DeleteTensorsRequest request;
    for (const std::string& tensor : tensors_) request.add_tensors(tensor);
    grpc::ClientContext context;
    v1::DeleteTensorsResponse response;
    // What is left has a lease that runs out.
    (void)stub_->DeleteTensors(&context, request, &response);
  }

  // Makes an input, and an output per call.
  absl::Status Create(int concurrency) {
    absl::Status status = CreateOne(true);
    for (int i = 0; i < concurrency && status.ok(); ++i) {
      status = CreateOne(false);
      if (!status.ok()) break;
      requests_.push_back(method_.make_request(payload_.size(), tensors_.front(), tensors_.back()));
    }
    return status;
  }

  std::string method() const override { return method_.name; }
  const grpc::ByteBuffer& request(size_t slot) const override { return requests_[slot]; }
  uint64_t payload_bytes() const override { return payload_.size(); }

  absl::Status Check(const grpc::ByteBuffer& answer, Part /*part*/) const override {
    return method_.check(answer, payload_.size());
  }

  absl::Status CheckResults() const override {
    for (size_t i = 1; i < tensors_.size(); ++i) {
      v1::ReadTensorRequest request;
      request.set_tensor(tensors_[i]);
      grpc::ClientContext context;
      v1::ReadTensorResponse response;
      absl::Status status = StatusOf(stub_->ReadTensor(&context, request, &response));
      if (!status.ok()) return status;
      const std::string& bytes = response.payload();
      if (bytes.size() != payload_.size() ||
          std::memcmp(bytes.data(), payload_.expected().data(), bytes.size()) != 0) {
        return absl::InternalError("a resident result is wrong");
      }
    }
    return absl::OkStatus();
  }

 private:
  // With the payload, or zeros.
  absl::Status CreateOne(bool with_payload) {
    v1::CreateTensorRequest request;
    *request.mutable_desc() = Float32Desc(payload_.size());
    if (with_payload) {
      request.mutable_payload()->assign(payload_.bytes().begin(), payload_.bytes().end());
    }
    grpc::ClientContext context;
    v1::CreateTensorResponse response;
    absl::Status status = StatusOf(stub_->CreateTensor(&context, request, &response));
    if (status.ok()) tensors_.push_back(response.tensor());
    return status;
  }

  const ResidentMethod& method_;
  const std::unique_ptr<Stub> stub_;
  const Payload& payload_;
  std::vector<std::string> tensors_;  // the input, then the outputs
  std::vector<grpc::ByteBuffer> requests_;
};

grpc::ByteBuffer MakeRound(uint64_t bytes, const std::string& input, const std::string& output) {
  v1::ExecuteRequest request = RoundRequest(bytes);
  request.add_input_places()->set_tensor(input);
  request.mutable_output_place()->set_tensor(output);
  return Serialized(request);
}

grpc::ByteBuffer MakeSequence(uint64_t bytes, const std::string& input, const std::string& output) {
  v1::ExecuteSequenceRequest request = ChainRequest(bytes);
  request.mutable_input_places(0)->set_tensor(input);
  request.mutable_outputs(0)->mutable_place()->set_tensor(output);
  return Serialized(request);
}

absl::Status CheckSequence(const grpc::ByteBuffer& answer, uint64_t bytes) {
  const auto response = Parsed<v1::ExecuteSequenceResponse>(answer);
  if (!response.ok()) return response.status();
  if (!response->payloads().empty() || response->outputs_size() != 1) return WrongAnswer();
  return CheckDesc(response->outputs(0), bytes);
}

constexpr ResidentMethod kExecute = {"/opserve.v1.OperatorService/Execute", MakeRound,
                                     CheckPlacedAnswer};
constexpr ResidentMethod kExecuteSequence = {"/opserve.v1.OperatorService/ExecuteSequence",
                                             MakeSequence, CheckSequence};

absl::StatusOr<std::unique_ptr<RawUnaryCall>> Make(const ResidentMethod& method,
                                                   const std::shared_ptr<grpc::Channel>& channel,
                                                   const Payload& payload, int concurrency) {
  auto call = std::make_unique<ResidentCall>(method, channel, payload);
  absl::Status status = call->Create(concurrency);
  if (!status.ok()) return status;
  return std::unique_ptr<RawUnaryCall>(std::move(call));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeResident(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency) {
  return Make(kExecute, channel, payload, concurrency);
}

absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeChain(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency) {
  return Make(kExecuteSequence, channel, payload, concurrency);
}

grpc::ByteBuffer Serialized(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status CheckPlacedAnswer(const grpc::ByteBuffer& answer, uint64_t bytes) {
  const auto response = Parsed<v1::ExecuteResponse>(answer);
  if (!response.ok()) return response.status();
  return response->payload().empty() ? CheckDesc(response->output(), bytes) : WrongAnswer();
}

}  // namespace opserve::wire_bench
