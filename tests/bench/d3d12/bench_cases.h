// File: tests/bench/d3d12/bench_cases.h
//
// The calls that sections measure.

#ifndef OPSERVE_TESTS_BENCH_D3D12_BENCH_CASES_H_
#define OPSERVE_TESTS_BENCH_D3D12_BENCH_CASES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/device/compute_device.h"
#include "tests/bench/d3d12/row.h"
#include "tests/bench/kernel_call.h"

namespace opserve::bench {

// An operator in a type.
struct BenchCase {
  OpId op;
  DataType type;
};

// One of each way in which kernels differ: narrow and wide types, several inputs, divisions, an
// output of another type.
std::span<const BenchCase> AllBenchCases();
// The operator that stands for all where one is enough: it reads and writes as many bytes.
inline constexpr BenchCase kOneBenchCase = {OpId::ELEMENT_WISE_ROUND, DataType::kFloat32};
// The operator that only copies.
inline constexpr BenchCase kCopyShader = {OpId::ELEMENT_WISE_IDENTITY, DataType::kFloat32};

// "ROUND FLOAT32".
std::string NameOf(const BenchCase& each);

// A packed call whose lane input has `bytes` bytes.
std::shared_ptr<const Invocation> CallOfBytes(const BenchCase& each, uint64_t bytes);

// The call with its buffers, as devices take it.
DeviceCall CallWith(const Invocation& invocation, CallBuffers& buffers);

// Calls of 4 KiB with the same inputs and outputs of their own: what batches are made of. Owns all.
class SmallCalls {
 public:
  SmallCalls(const BenchCase& each, size_t count);
  SmallCalls(const SmallCalls&) = delete;
  SmallCalls& operator=(const SmallCalls&) = delete;

  std::span<const DeviceCall> calls() const { return calls_; }
  std::span<DeviceCall> calls() { return calls_; }
  // Of the lane input of each.
  static constexpr uint64_t kBytes = 4096;

 private:
  const std::shared_ptr<const Invocation> invocation_;
  CallBuffers buffers_;
  std::vector<Buffer> outputs_;
  std::vector<DeviceCall> calls_;
};

// A row of what moved `bytes` bytes of the case in either of two times; GB/s.
Row RateRow(std::string name, uint64_t size, uint64_t bytes, double seconds, double ceiling_seconds,
            std::string against);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_BENCH_CASES_H_
