// File: tests/unit/server/d3d12/fake_buffer.h
//
// What takes the place of a device's buffer in tests of BufferPool and ContentCache.

#ifndef OPSERVE_TESTS_UNIT_SERVER_D3D12_FAKE_BUFFER_H_
#define OPSERVE_TESTS_UNIT_SERVER_D3D12_FAKE_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace opserve::testing {

// A buffer whose bytes are counted while it lives.
class FakeBuffer {
 public:
  FakeBuffer() = default;
  FakeBuffer(uint64_t bytes, std::atomic<uint64_t>& live)
      : bytes_(bytes), live_(&live, [bytes](std::atomic<uint64_t>* sum) { *sum -= bytes; }) {
    live += bytes;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
  std::shared_ptr<std::atomic<uint64_t>> live_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_D3D12_FAKE_BUFFER_H_
