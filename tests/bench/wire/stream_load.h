// File: tests/bench/wire/stream_load.h
//
// A client of streams on one completion queue: one stream, a number of requests under way.

#ifndef OPSERVE_TESTS_BENCH_WIRE_STREAM_LOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_STREAM_LOAD_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "tests/bench/wire/meter.h"
#include "tests/bench/wire/payload.h"
#include "tests/bench/wire/stream_calls.h"

namespace opserve::wire_bench {

// Sends `payload` as `use` says, large ones in pieces of kPieceBytes, until `meter` has enough. A
// call lasts from its first message to its last answer; in runs, from its first piece to the first
// piece of its answer. Checks all lengths, the first answer and the last ones in full, of the
// others a few bytes of every piece. Fails with the first answer that is an error or wrong, and
// with DEADLINE_EXCEEDED where nothing happens for a minute.
absl::Status RunStreamLoad(const std::shared_ptr<grpc::Channel>& channel, const Payload& payload,
                           StreamUse use, int concurrency, Meter& meter);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_STREAM_LOAD_H_
