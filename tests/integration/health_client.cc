#include "tests/integration/health_client.h"

#include <chrono>

namespace opserve::testing {
namespace {

using google::protobuf::Int32Value;
using google::protobuf::StringValue;
using HealthStub = grpc::TemplatedGenericStub<StringValue, Int32Value>;

std::chrono::system_clock::time_point InAMinute() {
  return std::chrono::system_clock::now() + std::chrono::minutes(1);
}

StringValue RequestFor(const std::string& service) {
  StringValue request;
  request.set_value(service);
  return request;
}

}  // namespace

Health CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  HealthStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(InAMinute());
  const StringValue request = RequestFor(service);
  Int32Value response;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return Health::kUnknownService;
  return status.ok() ? static_cast<Health>(response.value()) : Health::kError;
}

HealthWatch::HealthWatch(const std::shared_ptr<grpc::Channel>& channel,
                         const std::string& service) {
  HealthStub stub(channel);
  stream_ = stub.PrepareCall(&context_, "/grpc.health.v1.Health/Watch", &queue_);
  stream_->StartCall(nullptr);
  if (!WaitForStep()) return;
  stream_->WriteLast(RequestFor(service), grpc::WriteOptions(), nullptr);
  WaitForStep();
}

HealthWatch::~HealthWatch() {
  context_.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

Health HealthWatch::Next() {
  Int32Value response;
  stream_->Read(&response, nullptr);
  return WaitForStep() ? static_cast<Health>(response.value()) : Health::kError;
}

bool HealthWatch::WaitForStep() {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, InAMinute()) == grpc::CompletionQueue::TIMEOUT) {
    // Nothing may be written to a message that is gone.
    context_.TryCancel();
    queue_.Next(&tag, &ok);
    return false;
  }
  return ok;
}

}  // namespace opserve::testing
