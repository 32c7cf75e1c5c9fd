#include "tests/integration/raw_calls.h"

#include <future>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string TextOf(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

}  // namespace

std::pair<grpc::Status, std::string> CallByName(const std::shared_ptr<grpc::Channel>& channel,
                                                const std::string& method,
                                                const std::string& request) {
  grpc::GenericStub stub(channel);
  const grpc::ByteBuffer bytes = BufferOf(request);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  // Shared, because the thread that sets it may still be about it when this one goes on.
  const auto done = std::make_shared<std::promise<grpc::Status>>();
  stub.UnaryCall(&context, method, {}, &bytes, &response,
                 [done](grpc::Status status) { done->set_value(std::move(status)); });
  grpc::Status status = done->get_future().get();
  std::string answer = status.ok() ? TextOf(response) : "";
  return {std::move(status), std::move(answer)};
}

RawStream::RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
    : stub_(channel), call_(stub_.PrepareCall(&context_, method, &queue_)) {
  call_->StartCall(nullptr);
  Wait();
}

RawStream::~RawStream() {
  context_.TryCancel();
  if (!is_finished_) Finish();
  queue_.Shutdown();
  Wait();
}

bool RawStream::Write(const std::string& message) {
  call_->Write(BufferOf(message), nullptr);
  return Wait();
}

bool RawStream::WaitForAnswer() {
  call_->ReadInitialMetadata(nullptr);
  return Wait();
}

std::optional<std::string> RawStream::Read() {
  grpc::ByteBuffer message;
  call_->Read(&message, nullptr);
  if (!Wait()) return std::nullopt;
  return TextOf(message);
}

void RawStream::WritesDone() {
  call_->WritesDone(nullptr);
  Wait();
}

grpc::Status RawStream::Finish() {
  grpc::Status status;
  call_->Finish(&status, nullptr);
  Wait();
  is_finished_ = true;
  return status;
}

bool RawStream::Wait() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

}  // namespace opserve::testing
