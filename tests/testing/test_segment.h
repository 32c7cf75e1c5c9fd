// File: tests/testing/test_segment.h
//
// POSIX shared memory of a test.

#ifndef OPSERVE_TESTS_TESTING_TEST_SEGMENT_H_
#define OPSERVE_TESTS_TESTING_TEST_SEGMENT_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "opserve/v1/regions.pb.h"
#include "tests/testing/region_client.h"

namespace opserve::testing {

// Where the system keeps segments, as files.
inline constexpr char kSegmentFolder[] = "/dev/shm";

// A name that no other segment of this machine has.
inline std::string NewSegmentName() {
  static std::atomic<int> count{0};
  return "/opserve-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

// A new segment, unlinked in the end.
class TestSegment {
 public:
  explicit TestSegment(uint64_t bytes, mode_t mode = 0600, std::string name = NewSegmentName())
      : name_(std::move(name)), memory_(Create(name_, bytes, mode), bytes) {}
  ~TestSegment() { shm_unlink(name_.c_str()); }
  TestSegment(const TestSegment&) = delete;
  TestSegment& operator=(const TestSegment&) = delete;

  const std::string& name() const { return name_; }
  // Not to be touched where it is cut off.
  const SharedMemory& memory() const { return memory_; }

  // Cuts it off, or makes it longer.
  void Resize(uint64_t bytes) const {
    if (ftruncate(memory_.fd().get(), static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error("cannot resize a segment");
    }
  }

  // The packet that registers all of it.
  std::string RegisterPacket() const {
    v1::RegionRequest request;
    request.mutable_register_()->set_bytes(memory_.bytes());
    request.mutable_register_()->set_name(name_);
    return request.SerializeAsString();
  }

 private:
  static UniqueFd Create(const std::string& name, uint64_t bytes, mode_t mode) {
    UniqueFd fd(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, mode));
    // The process masks out some permissions of new files.
    if (!fd || fchmod(fd.get(), mode) != 0 || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error("no segment to be had");
    }
    return fd;
  }

  const std::string name_;
  const SharedMemory memory_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_TEST_SEGMENT_H_
