// File: tests/bench/wire/calls.h
//
// The calls that wire_load makes, one class per mode.

#ifndef OPSERVE_TESTS_BENCH_WIRE_CALLS_H_
#define OPSERVE_TESTS_BENCH_WIRE_CALLS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "opserve/v1/operator_service.pb.h"
#include "tests/bench/wire/answer_check.h"
#include "tests/bench/wire/echo.pb.h"
#include "tests/bench/wire/payload.h"

namespace opserve::wire_bench {

// Unary calls that are made over and over; `Message` is what gRPC gets and returns. Immutable.
template <class Message>
class UnaryCall {
 public:
  virtual ~UnaryCall() = default;
  // The path of the method.
  virtual std::string method() const = 0;
  // What call number `slot` of those under way sends, every time.
  virtual const Message& request(size_t slot) const = 0;
  // A round may take several calls, each made of the answer to the one before. The next request
  // after the answer to number `step` of a round; nullopt where that was the last one.
  virtual absl::StatusOr<std::optional<Message>> Next(size_t /*step*/,
                                                      const Message& /*answer*/) const {
    return std::nullopt;
  }
  // Whether the last answer of a round has the right length, and the right bytes in `part` of its
  // payload.
  virtual absl::Status Check(const Message& answer, Part part) const = 0;
  // Bytes of the payload, each way.
  virtual uint64_t payload_bytes() const = 0;
  // After the last call: whether results that are in no answer are right, all of them. May block.
  virtual absl::Status CheckResults() const { return absl::OkStatus(); }
};

using RawUnaryCall = UnaryCall<grpc::ByteBuffer>;

// A packed vector of FLOAT32.
v1::TensorDesc Float32Desc(uint64_t bytes);

// `header`, and the tag and length of a field of `bytes` bytes that come next.
std::string WithField(const std::string& header, int field, uint64_t bytes);

// The payload of a message without a copy: `header` with all other fields, then `field`.
grpc::ByteBuffer WithPayload(const std::string& header, int field,
                             std::span<const uint8_t> payload);

// A request of ELEMENT_WISE_ROUND without its payload.
v1::ExecuteRequest RoundRequest(uint64_t payload_bytes);

// Echo of wire_peer, as generated code does it: messages hold the payload.
std::unique_ptr<UnaryCall<EchoMessage>> MakeProtoEcho(const Payload& payload);

// The same bytes, without a message. `payload` must outlive it, as below.
std::unique_ptr<RawUnaryCall> MakeRawEcho(const Payload& payload);

// ELEMENT_WISE_ROUND of opserve's Execute.
std::unique_ptr<RawUnaryCall> MakeExecute(const Payload& payload);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_CALLS_H_
