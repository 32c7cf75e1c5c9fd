// File: tests/bench/wire/tuning.h
//
// What makes loopback transport of large messages fast, for both ends of the benchmark.

#ifndef OPSERVE_TESTS_BENCH_WIRE_TUNING_H_
#define OPSERVE_TESTS_BENCH_WIRE_TUNING_H_

#include <memory>

#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/support/channel_arguments.h"

namespace opserve::wire_bench {

// Makes glibc's allocator keep every page that it once got from the system. Call it before the
// first thread is started.
void KeepPages();

// CUBIC congestion control on the connections of a client. Other addresses than loopback ones would
// get it too, so it is no setting for a product.
void UseCubic(grpc::ChannelArguments& arguments);

// The same for a server: for its listeners, whose connections inherit it.
std::unique_ptr<grpc::ServerBuilderOption> CubicListeners();

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_TUNING_H_
