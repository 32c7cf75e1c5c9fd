// File: tests/conformance/buffers.h
//
// Memory in which a kernel that reads or writes too much is caught.

#ifndef OPSERVE_TESTS_CONFORMANCE_BUFFERS_H_
#define OPSERVE_TESTS_CONFORMANCE_BUFFERS_H_

#include <cstddef>
#include <vector>

namespace opserve::testing {

// Bytes that end right before a page that cannot be touched.
class GuardedInput {
 public:
  explicit GuardedInput(size_t bytes);
  ~GuardedInput();
  GuardedInput(GuardedInput&& other) noexcept;
  GuardedInput& operator=(GuardedInput&&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Bytes between sentinels, at a chosen distance from an aligned address.
class SentinelOutput {
 public:
  SentinelOutput(size_t bytes, size_t misalignment);

  std::byte* data() { return storage_.data() + begin_; }
  const std::byte* data() const { return storage_.data() + begin_; }
  size_t size() const { return size_; }

  // Whether nothing around the bytes has changed.
  bool intact() const;

 private:
  std::vector<std::byte> storage_;
  size_t begin_ = 0;
  size_t size_ = 0;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_BUFFERS_H_
