// File: tests/integration/test_server.h
//
// A server in the process of the test, and calls of it.

#ifndef OPSERVE_TESTS_INTEGRATION_TEST_SERVER_H_
#define OPSERVE_TESTS_INTEGRATION_TEST_SERVER_H_

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "server/service/server.h"
#include "tests/integration/requests.h"

namespace opserve::testing {

using Stub = v1::OperatorService::Stub;

// What a client got.
struct Answer {
  grpc::Status status;
  v1::ExecuteResponse response;
};

// A call in flight: the answer will come, and TryCancel gives it up.
class PendingCall {
 public:
  // `client` is what the call says that it comes from; nothing if it is empty.
  PendingCall(Stub& stub, v1::ExecuteRequest request, std::chrono::milliseconds timeout,
              const std::string& client = "");

  // Waits for the answer.
  Answer Get() { return answer_.get(); }
  // Whether the answer has come.
  bool done() const {
    return answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  void TryCancel() { state_->context.TryCancel(); }

 private:
  struct State {
    grpc::ClientContext context;
    v1::ExecuteRequest request;
    Answer answer;
    std::promise<Answer> promise;
  };

  std::shared_ptr<State> state_;
  std::future<Answer> answer_;
};

// Waits until one of `calls` but the first is answered. Its index; 0 after a minute.
size_t WaitForAnyAfterFirst(const std::vector<PendingCall>& calls);

// A server on a free loopback port.
class TestServer {
 public:
  // The default address of `options` is replaced. Returns once all GPUs have joined, or could not
  // be made. Ends the test program if the server cannot start.
  explicit TestServer(ServerOptions options = {}, const ServerEnvironment& environment = {});

  Server& server() { return *server_; }
  Stub& stub() { return *stub_; }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

  // Waits until the server holds exactly `count` requests. False after a minute.
  bool WaitForRequests(uint64_t count) const;

  // Calls Execute and waits, for a minute unless told otherwise.
  Answer Execute(const v1::ExecuteRequest& request,
                 std::chrono::milliseconds timeout = std::chrono::minutes(1));

  // Starts a call of Execute.
  PendingCall Start(v1::ExecuteRequest request,
                    std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
    return PendingCall(*stub_, std::move(request), timeout);
  }

 private:
  bool AreGpusStarting();

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
};

// A channel of its own connection, with plain text and no limit on what it receives.
std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_TEST_SERVER_H_
