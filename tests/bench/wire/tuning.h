// File: tests/bench/wire/tuning.h
//
// What makes loopback transport of large messages fast, for both ends of the benchmark.

#ifndef OPSERVE_TESTS_BENCH_WIRE_TUNING_H_
#define OPSERVE_TESTS_BENCH_WIRE_TUNING_H_

#include <memory>

#include "grpcpp/impl/server_builder_option.h"

namespace opserve::wire_bench {

// Makes glibc's allocator keep every page that it once got from the system. Call it before the
// first thread is started.
void KeepPages();

// What opserve-server does for connections within one machine, for the server of a peer.
std::unique_ptr<grpc::ServerBuilderOption> LoopbackListeners();

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_TUNING_H_
