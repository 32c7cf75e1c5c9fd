#include "tests/integration/test_server.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include "proto/base/first_connection.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

ServerOptions OnLoopback(ServerOptions options) {
  if (options.listen == ServerOptions().listen) options.listen = {"127.0.0.1:0"};
  return options;
}

}  // namespace

PendingCall::PendingCall(Stub& stub, v1::ExecuteRequest request, std::chrono::milliseconds timeout,
                         const std::string& client)
    : state_(std::make_shared<State>()) {
  answer_ = state_->promise.get_future();
  state_->context.set_deadline(std::chrono::system_clock::now() + timeout);
  state_->request = std::move(request);
  if (!client.empty()) state_->context.AddMetadata("opserve-client", client);
  stub.async()->Execute(&state_->context, &state_->request, &state_->answer.response,
                        [state = state_](grpc::Status status) mutable {
                          Answer answer = std::move(state->answer);
                          answer.status = std::move(status);
                          std::promise<Answer> promise = std::move(state->promise);
                          // Its context has a share of the channel, which this thread must not be
                          // the last to give up: gRPC would join it.
                          state.reset();
                          promise.set_value(std::move(answer));
                        });
}

size_t WaitForAnyAfterFirst(const std::vector<PendingCall>& calls) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < limit) {
    for (size_t i = 1; i < calls.size(); ++i) {
      if (calls[i].done()) return i;
    }
    std::this_thread::yield();
  }
  return 0;
}

TestServer::TestServer(ServerOptions options, const ServerEnvironment& environment) {
  auto server = Server::Start(OnLoopback(std::move(options)), environment);
  if (!server.ok()) {
    std::cerr << "The server under test cannot start: " << server.status() << "\n";
    std::abort();
  }
  server_ = *std::move(server);
  channel_ = ConnectTo(server_->addresses().front());
  stub_ = v1::OperatorService::NewStub(channel_);
  while (environment.find_gpus != nullptr && AreGpusStarting()) std::this_thread::yield();
}

bool TestServer::AreGpusStarting() {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  const grpc::Status status = stub_->GetServerInfo(&context, {}, &info);
  if (!status.ok() || info.devices_size() == 1) return status.ok();
  return std::any_of(info.devices().begin(), info.devices().end(), [](const auto& device) {
    return device.state() == v1::DEVICE_STATE_STARTING;
  });
}

bool TestServer::WaitForRequests(uint64_t count) const {
  return WaitUntil([&] { return server_->usage().requests == count; });
}

Answer TestServer::Execute(const v1::ExecuteRequest& request, std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  Answer answer;
  answer.status = stub_->Execute(&context, request, &answer.response);
  return answer;
}

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
  PrepareFirstConnection();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace opserve::testing
