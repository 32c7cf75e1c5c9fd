// File: tests/bench/wire/placed_calls.h
//
// Calls whose tensors do not travel.

#ifndef OPSERVE_TESTS_BENCH_WIRE_PLACED_CALLS_H_
#define OPSERVE_TESTS_BENCH_WIRE_PLACED_CALLS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "tests/bench/wire/calls.h"

namespace opserve::wire_bench {

// ELEMENT_WISE_ROUND of a tensor that the server keeps, into another one for each of `concurrency`
// calls. `payload` must outlive it, as below. Makes the tensors now; they are deleted in the end.
absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeResident(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency);

// The operators of chain.h as one ExecuteSequence, from and to the same tensors.
absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeChain(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency);

// ELEMENT_WISE_ROUND in memory shared with a server on this machine.
absl::StatusOr<std::unique_ptr<RawUnaryCall>> MakeSharedMemory(
    const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, int concurrency);

// A message as gRPC sends it.
grpc::ByteBuffer Serialized(const google::protobuf::Message& message);

// OK if `answer` is an ExecuteResponse without a payload for `bytes` bytes of FLOAT32.
absl::Status CheckPlacedAnswer(const grpc::ByteBuffer& answer, uint64_t bytes);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_PLACED_CALLS_H_
