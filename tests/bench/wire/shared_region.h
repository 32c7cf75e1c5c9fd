// File: tests/bench/wire/shared_region.h
//
// Memory that a server on this machine sees too; the client's side of regions.proto.

#ifndef OPSERVE_TESTS_BENCH_WIRE_SHARED_REGION_H_
#define OPSERVE_TESTS_BENCH_WIRE_SHARED_REGION_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/packets/unique_fd.h"

namespace opserve::wire_bench {

// Mapped and registered as long as the object exists. Not thread-safe.
class SharedRegion {
 public:
  SharedRegion() = default;
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  // Makes a sealed memfd of `bytes` bytes and registers it at the socket `path`. Call it once.
  absl::Status Register(const std::string& path, uint64_t bytes);

  uint8_t* data() const { return data_; }
  // As RegionRange.region wants it.
  const std::string& id() const { return id_; }

 private:
  absl::Status Map(uint64_t bytes);
  absl::Status Send(const std::string& path, uint64_t bytes);

  UniqueFd memory_;
  // The region is there as long as the connection.
  UniqueFd socket_;
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::string id_;
};

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_SHARED_REGION_H_
