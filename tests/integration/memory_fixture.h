// File: tests/integration/memory_fixture.h
//
// A server on a socket file, for tests of shared memory and of resident tensors.

#ifndef OPSERVE_TESTS_INTEGRATION_MEMORY_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_MEMORY_FIXTURE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/test_server.h"
#include "tests/testing/region_client.h"

namespace opserve::testing {

using Floats = std::vector<float>;

// Shared memory that holds `values`.
template <class T>
std::unique_ptr<SharedMemory> SharedValues(const std::vector<T>& values) {
  auto memory = std::make_unique<SharedMemory>(values.size() * sizeof(T));
  std::memcpy(memory->data(), values.data(), memory->bytes());
  return memory;
}

// `count` values from byte `offset` on.
template <class T = float>
std::vector<T> ValuesAt(const SharedMemory& memory, uint64_t offset, size_t count) {
  return ValuesOf<T>({reinterpret_cast<const char*>(memory.data()) + offset, count * sizeof(T)});
}

inline v1::TensorPlace InRegion(const std::string& region, uint64_t offset, uint64_t bytes) {
  v1::TensorPlace place;
  place.mutable_region()->set_region(region);
  place.mutable_region()->set_offset(offset);
  place.mutable_region()->set_bytes(bytes);
  return place;
}

inline v1::TensorPlace InTensor(const std::string& handle) {
  v1::TensorPlace place;
  place.set_tensor(handle);
  return place;
}

// ELEMENT_WISE_ROUND of `count` values at `input`; the result goes to `output` if that is set.
inline v1::ExecuteRequest RoundAt(uint32_t count, const v1::TensorPlace& input,
                                  const v1::TensorPlace& output = {}) {
  v1::ExecuteRequest request = RoundRequest(std::vector<float>(count));
  request.clear_payloads();
  *request.add_input_places() = input;
  *request.mutable_output_place() = output;
  return request;
}

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    char pattern[] = "/tmp/opserve-memory-XXXXXX";
    folder_ = mkdtemp(pattern);
    options_.listen = {"unix:" + folder_ + "/server"};
  }
  ~MemoryTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start(const ServerEnvironment& environment = {}) {
    server_ = std::make_unique<TestServer>(options_, environment);
  }
  std::string region_socket() const { return folder_ + "/server.regions"; }

  v1::GetServerInfoResponse Info() {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(server_->stub().GetServerInfo(&context, {}, &info).ok());
    return info;
  }

  ServerOptions options_;
  std::unique_ptr<TestServer> server_;

 private:
  std::string folder_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_MEMORY_FIXTURE_H_
