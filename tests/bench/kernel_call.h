// File: tests/bench/kernel_call.h
//
// Packed calls of operators for benchmarks.

#ifndef OPSERVE_TESTS_BENCH_KERNEL_CALL_H_
#define OPSERVE_TESTS_BENCH_KERNEL_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/invocation.h"

namespace opserve::bench {

// A validated packed call of `count` elements with the lane input of type `lane`; nullptr if the
// operator does not take it.
std::shared_ptr<const Invocation> MakePackedCall(OpId op, DataType lane, int mode, uint32_t count);

// The same of tensors of these sizes, the last of which is that of a row.
std::shared_ptr<const Invocation> MakePackedCall(OpId op, DataType lane, int mode,
                                                 const std::vector<uint32_t>& sizes);

// What the elements of inputs are.
enum class Values {
  kUsual,   // numbers as data has them: quotients are small
  kAnyBits  // every bit pattern, NaNs included
};

// An aligned buffer whose pages are in memory.
class Buffer {
 public:
  explicit Buffer(size_t bytes);
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_;
};

// Buffers for a call, with values in the inputs.
struct CallBuffers {
  CallBuffers(const Invocation& call, Values values);

  std::vector<Buffer> inputs;
  std::vector<const std::byte*> input_pointers;
  Buffer output;
  // All bytes that a run reads and writes.
  size_t total_bytes = 0;
};

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_KERNEL_CALL_H_
