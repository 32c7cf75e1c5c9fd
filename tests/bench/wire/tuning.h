// File: tests/bench/wire/tuning.h
//
// What an end of the benchmark changes in gRPC's and glibc's defaults.

#ifndef OPSERVE_TESTS_BENCH_WIRE_TUNING_H_
#define OPSERVE_TESTS_BENCH_WIRE_TUNING_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/support/channel_arguments.h"

namespace opserve::wire_bench {

struct Tuning {
  // CUBIC on connections within one machine, as opserve does it.
  bool has_cubic = false;
  // glibc's allocator keeps every page that it once got from the system.
  bool keeps_pages = false;
  // gRPC's channel arguments.
  std::vector<std::pair<std::string, int>> arguments;
};

// Adds the options of a command line.
void AddOptions(CLI::App& app, Tuning& tuning);

// Tunes the allocator. Before the first thread is started.
void TuneProcess(const Tuning& tuning);

void TuneClient(const Tuning& tuning, const std::string& target, grpc::ChannelArguments& arguments);

std::unique_ptr<grpc::ServerBuilderOption> ServerTuning(const Tuning& tuning);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_TUNING_H_
