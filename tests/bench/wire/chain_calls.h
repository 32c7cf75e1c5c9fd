// File: tests/bench/wire/chain_calls.h
//
// The chain of chain.h as messages: one for the whole, or one for each operator.

#ifndef OPSERVE_TESTS_BENCH_WIRE_CHAIN_CALLS_H_
#define OPSERVE_TESTS_BENCH_WIRE_CHAIN_CALLS_H_

#include <memory>

#include "tests/bench/wire/calls.h"

namespace opserve::wire_bench {

// The chain over `payload_bytes` bytes; the places of input 0 and of the one output are to be set.
v1::ExecuteSequenceRequest ChainRequest(uint64_t payload_bytes);

// A round is the chain as calls of Execute, each with the tensor that the one before returned. It
// goes out from the very memory where it came in. `payload` must outlive the result.
std::unique_ptr<RawUnaryCall> MakeCallsOfChain(const Payload& payload);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_CHAIN_CALLS_H_
