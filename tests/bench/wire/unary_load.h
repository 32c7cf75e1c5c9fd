// File: tests/bench/wire/unary_load.h
//
// A client on one completion queue that keeps a number of unary calls under way.

#ifndef OPSERVE_TESTS_BENCH_WIRE_UNARY_LOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_UNARY_LOAD_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "tests/bench/wire/calls.h"
#include "tests/bench/wire/meter.h"

namespace opserve::wire_bench {

// Keys and values that every call brings beside gRPC's own.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// Makes rounds of calls until `meter` has enough of them. Checks the first answer and the last ones
// in full, of the others the length and a few bytes at random. Fails with the first call that fails
// or is wrong, and with DEADLINE_EXCEEDED where no answer comes for a minute. For grpc::ByteBuffer
// and EchoMessage.
template <class Message>
absl::Status RunUnaryLoad(const std::shared_ptr<grpc::Channel>& channel,
                          const UnaryCall<Message>& call, int concurrency, Meter& meter,
                          const Metadata& metadata = {});

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_UNARY_LOAD_H_
