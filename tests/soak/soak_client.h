// File: tests/soak/soak_client.h
//
// A client that does everything a client may do, in random order, and checks every answer.

#ifndef OPSERVE_TESTS_SOAK_SOAK_CLIENT_H_
#define OPSERVE_TESTS_SOAK_SOAK_CLIENT_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "opserve/v1/operator_service.grpc.pb.h"

namespace opserve::testing {

// Not thread-safe.
class SoakClient {
 public:
  SoakClient(const std::shared_ptr<grpc::Channel>& channel, uint32_t seed)
      : stub_(v1::OperatorService::NewStub(channel)), random_(seed) {}

  // Does one random thing. Returns what was wrong with the server's answers; empty: nothing. A
  // server that has no room for more (RESOURCE_EXHAUSTED) is right to say so.
  std::string Step();

  // Waits until the server keeps no resident tensor for this host any more; whether that came
  // true before their leases must have ended.
  bool WaitUntilNothingIsKept();

  // Answers that were right to the bit.
  uint64_t answers() const { return answers_; }

 private:
  // A call of ROUND and what must come back.
  struct Call {
    v1::ExecuteRequest request;
    std::string expected;
  };

  uint64_t Random(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }
  // With a tensor of at most `max_bytes` bytes; small ones are as likely as large ones.
  Call RandomCall(uint64_t max_bytes);
  std::string Check(const grpc::Status& status, const std::string& payload, const Call& call);

  std::string Unary();
  std::string Impatient();
  std::string Malformed();
  std::string Stream();
  std::string AbandonedStream();
  // Works in place on a tensor at the server, and perhaps forgets it.
  std::string Resident();

  // Sends a request in pieces of random length; false once the stream is broken.
  bool SendInPieces(
      grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>& stream,
      uint64_t id, const Call& call);
  std::string ReadAnswers(
      grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>& stream,
      const std::vector<Call>& calls, const std::vector<bool>& may_be_cancelled);

  const std::unique_ptr<v1::OperatorService::Stub> stub_;
  std::mt19937_64 random_;
  uint64_t answers_ = 0;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_SOAK_SOAK_CLIENT_H_
