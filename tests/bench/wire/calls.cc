#include "tests/bench/wire/calls.h"

#include <cstring>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace opserve::wire_bench {
namespace {

constexpr char kEchoMethod[] = "/opserve.wire_bench.Echo/Echo";
constexpr char kExecuteMethod[] = "/opserve.v1.OperatorService/Execute";

class ProtoEcho : public UnaryCall<EchoMessage> {
 public:
  explicit ProtoEcho(const Payload& payload) : payload_(payload) {
    request_.set_payload(payload.bytes().data(), payload.bytes().size());
  }

  std::string method() const override { return kEchoMethod; }
  const EchoMessage& request(size_t /*slot*/) const override { return request_; }
  uint64_t payload_bytes() const override { return payload_.size(); }

  absl::Status Check(const EchoMessage& answer, Part part) const override {
    const std::string& bytes = answer.payload();
    if (bytes.size() == payload_.size() &&
        std::memcmp(bytes.data() + part.first, payload_.bytes().data() + part.first, part.bytes) ==
            0) {
      return absl::OkStatus();
    }
    return absl::InternalError("an echo differs from what was sent");
  }

 private:
  const Payload& payload_;
  EchoMessage request_;
};

// Sends bytes and expects bytes.
class RawCall : public RawUnaryCall {
 public:
  RawCall(std::string method, const grpc::ByteBuffer& request, int answer_field,
          std::span<const uint8_t> expected)
      : method_(std::move(method)),
        request_(request),
        answer_field_(answer_field),
        expected_(expected) {}

  std::string method() const override { return method_; }
  const grpc::ByteBuffer& request(size_t /*slot*/) const override { return request_; }
  uint64_t payload_bytes() const override { return expected_.size(); }

  absl::Status Check(const grpc::ByteBuffer& answer, Part part) const override {
    return CheckAnswer(answer, answer_field_, expected_, part);
  }

 private:
  const std::string method_;
  const grpc::ByteBuffer request_;
  const int answer_field_;
  const std::span<const uint8_t> expected_;
};

}  // namespace

v1::ExecuteRequest RoundRequest(uint64_t payload_bytes) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ROUND");
  v1::Attribute& mode = *request.add_attributes();
  mode.set_name("RoundingMode");
  mode.set_enum_name("HALVES_TO_NEAREST_EVEN");
  *request.add_inputs() = Float32Desc(payload_bytes);
  return request;
}

v1::TensorDesc Float32Desc(uint64_t bytes) {
  v1::TensorDesc desc;
  desc.set_data_type(v1::DATA_TYPE_FLOAT32);
  desc.add_sizes(static_cast<uint32_t>(bytes / sizeof(float)));
  return desc;
}

std::string WithField(const std::string& header, int field, uint64_t bytes) {
  using google::protobuf::internal::WireFormatLite;
  std::string head = header;
  google::protobuf::io::StringOutputStream stream(&head);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  output.WriteVarint64(bytes);
  output.Trim();
  return head;
}

grpc::ByteBuffer WithPayload(const std::string& header, int field,
                             std::span<const uint8_t> payload) {
  const grpc::Slice slices[] = {
      grpc::Slice(WithField(header, field, payload.size())),
      grpc::Slice(payload.data(), payload.size(), grpc::Slice::STATIC_SLICE)};
  return grpc::ByteBuffer(slices, std::size(slices));
}

std::unique_ptr<UnaryCall<EchoMessage>> MakeProtoEcho(const Payload& payload) {
  return std::make_unique<ProtoEcho>(payload);
}

std::unique_ptr<RawUnaryCall> MakeRawEcho(const Payload& payload) {
  constexpr int kField = EchoMessage::kPayloadFieldNumber;
  return std::make_unique<RawCall>(kEchoMethod, WithPayload("", kField, payload.bytes()), kField,
                                   payload.bytes());
}

std::unique_ptr<RawUnaryCall> MakeExecute(const Payload& payload) {
  const std::string header = RoundRequest(payload.size()).SerializeAsString();
  return std::make_unique<RawCall>(
      kExecuteMethod,
      WithPayload(header, v1::ExecuteRequest::kPayloadsFieldNumber, payload.bytes()),
      v1::ExecuteResponse::kPayloadFieldNumber, payload.expected());
}

}  // namespace opserve::wire_bench
