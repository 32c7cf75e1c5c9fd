// File: tests/bench/wire/spoil.h
//
// A wrong answer on purpose.

#ifndef OPSERVE_TESTS_BENCH_WIRE_SPOIL_H_
#define OPSERVE_TESTS_BENCH_WIRE_SPOIL_H_

#include <cstdint>
#include <vector>

#include "grpcpp/support/byte_buffer.h"

namespace opserve::wire_bench {

// Flips the lowest bit of the last byte.
inline void Spoil(grpc::ByteBuffer& bytes) {
  grpc::Slice whole;
  if (!bytes.DumpToSingleSlice(&whole).ok() || whole.size() == 0) return;
  std::vector<uint8_t> copy(whole.begin(), whole.end());
  copy.back() ^= 1;
  const grpc::Slice wrong(copy.data(), copy.size());
  bytes = grpc::ByteBuffer(&wrong, 1);
}

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_SPOIL_H_
