// File: client/cli/bench_call.h
//
// Makes up a call of any operator from what the catalogue says about it. Stateless.

#ifndef OPSERVE_CLIENT_CLI_BENCH_CALL_H_
#define OPSERVE_CLIENT_CLI_BENCH_CALL_H_

#include "absl/status/statusor.h"
#include "client/cli/arguments/arguments.h"
#include "client/cli/calls.h"

namespace opserve::cli {

// A packed tensor of pseudo-random values, the same on each call: normally distributed floats,
// integers over their whole range.
absl::StatusOr<Tensor> MakeRandomTensor(DataType type, const Dimensions& sizes, uint64_t seed);

// INVALID_ARGUMENT where a tensor of arguments.shape and arguments.type is larger than the server
// takes, or cannot be.
absl::Status CheckBenchSize(const BenchArguments& arguments, const ServerLimits& limits);

// A call of `op` with tensors of arguments.shape. Each input has arguments.type if it may, else the
// first type that it may have. Attributes that are missing take their first value, that type, or
// the last dimension as a list of dimensions. INVALID_ARGUMENT if no input may have the type, or if
// a missing attribute is a number.
absl::StatusOr<FileCall> MakeBenchCall(const OperatorInfo& op, const BenchArguments& arguments);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_BENCH_CALL_H_
