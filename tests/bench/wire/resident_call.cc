#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "tests/bench/wire/placed_calls.h"

namespace opserve::wire_bench {
namespace {

using Stub = v1::OperatorService::Stub;

absl::Status StatusOf(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("a call failed with code ", status.error_code(), ": ", status.error_message()));
}

class Resident : public RawUnaryCall {
 public:
  Resident(const std::shared_ptr<grpc::Channel>& channel, const Payload& payload)
      : stub_(v1::OperatorService::NewStub(channel)), payload_(payload) {}

  ~Resident() override {
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
    v1::ExecuteRequest request = RoundRequest(payload_.size());
    for (int i = 0; i < concurrency && status.ok(); ++i) {
      status = CreateOne(false);
      if (!status.ok()) break;
      request.clear_input_places();
      request.add_input_places()->set_tensor(tensors_.front());
      request.mutable_output_place()->set_tensor(tensors_.back());
      requests_.push_back(Serialized(request));
    }
    return status;
  }

  std::string method() const override { return "/opserve.v1.OperatorService/Execute"; }
  const grpc::ByteBuffer& request(size_t slot) const override { return requests_[slot]; }
  uint64_t payload_bytes() const override { return payload_.size(); }

  absl::Status Check(const grpc::ByteBuffer& answer, Part /*part*/) const override {
    return CheckPlacedAnswer(answer, payload_.size());
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
          std::memcmp(bytes.data(), payload_.rounded().data(), bytes.size()) != 0) {
        return absl::InternalError("a resident result is wrong");
      }
    }
    return absl::OkStatus();
  }

 private:
  // With the payload, or zeros.
  absl::Status CreateOne(bool with_payload) {
    v1::CreateTensorRequest request;
    *request.mutable_desc() = RoundRequest(payload_.size()).inputs(0);
    if (with_payload) {
      request.mutable_payload()->assign(payload_.bytes().begin(), payload_.bytes().end());
    }
    grpc::ClientContext context;
    v1::CreateTensorResponse response;
    absl::Status status = StatusOf(stub_->CreateTensor(&context, request, &response));
    if (status.ok()) tensors_.push_back(response.tensor());
    return status;
  }

  const std::unique_ptr<Stub> stub_;
  const Payload& payload_;
  std::vector<std::string> tensors_;  // the input, then the outputs
  std::vector<grpc::ByteBuffer> requests_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeResident(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency) {
  auto call = std::make_unique<Resident>(channel, payload);
  absl::Status status = call->Create(concurrency);
  if (!status.ok()) return status;
  return std::unique_ptr<RawUnaryCall>(std::move(call));
}

grpc::ByteBuffer Serialized(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status CheckPlacedAnswer(const grpc::ByteBuffer& answer, uint64_t bytes) {
  grpc::Slice slice;
  v1::ExecuteResponse response;
  if (!answer.DumpToSingleSlice(&slice).ok() ||
      !response.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    return absl::InternalError("an answer is no ExecuteResponse");
  }
  if (!response.payload().empty() || response.output().sizes_size() != 1 ||
      response.output().sizes(0) != bytes / sizeof(float)) {
    return absl::InternalError("an answer describes another result");
  }
  return absl::OkStatus();
}

}  // namespace opserve::wire_bench
