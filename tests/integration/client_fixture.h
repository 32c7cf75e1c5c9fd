// File: tests/integration/client_fixture.h
//
// A server on a socket file and clients of it, for tests of what the client keeps at the server.

#ifndef OPSERVE_TESTS_INTEGRATION_CLIENT_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_CLIENT_FIXTURE_H_

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "opserve/client.h"
#include "server/service/server.h"

namespace opserve::testing {

using Floats = std::vector<float>;

// FLOAT32 of one dimension.
inline TensorSpec FloatsSpec(size_t count) {
  return {DataType::kFloat32, {static_cast<uint32_t>(count)}, {}};
}

inline TensorView ViewOf(const Floats& values) {
  return TensorView::Of<float>(values, {static_cast<uint32_t>(values.size())});
}

// Rounds to even.
inline OperatorCall Round(TensorView input) {
  return {.operator_name = "ELEMENT_WISE_ROUND",
          .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
          .inputs = {std::move(input)}};
}

class ClientFixture : public ::testing::Test {
 protected:
  ClientFixture() {
    char pattern[] = "/tmp/opserve-client-XXXXXX";
    folder_ = mkdtemp(pattern);
    options_.listen = {"unix:" + folder_ + "/server"};
  }
  ~ClientFixture() override {
    client_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  // A file in a folder of the test's own.
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }

  // Starts the server, and a client called "me".
  void Start(const ServerEnvironment& environment = {}) {
    StartServer(environment);
    client_ = Connect({.client_name = "me"});
  }
  void StartServer(const ServerEnvironment& environment = {}) {
    auto server = Server::Start(options_, environment);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::unique_ptr<Client> Connect(const ClientOptions& options) const {
    auto client = Client::Connect(options_.listen[0], options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  // A resident tensor with these values.
  TensorHandle Create(const Floats& values) {
    const auto lease = client_->CreateTensor(ViewOf(values));
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease->handle;
  }
  Floats ValuesOf(const TensorHandle& tensor) {
    const auto read = client_->ReadTensor(tensor);
    EXPECT_TRUE(read.ok()) << read.status();
    if (!read.ok()) return {};
    return *read->ToFloats();
  }

  const std::string& folder() const { return folder_; }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;

 private:
  std::string folder_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_CLIENT_FIXTURE_H_
