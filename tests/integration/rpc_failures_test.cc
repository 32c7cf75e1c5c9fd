// Handlers that throw: the call gets an error, and nothing else notices.

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/base/mutex.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/poller.h"
#include "server/rpc/rpc_service.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/requests.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

constexpr MethodLimits kLimits = {.max_request_bytes = 1024};

// What a handler does in place of its work, by the text of the request.
void Fail(const std::string& how) {
  if (how == "memory") throw std::bad_alloc();
  if (how == "thread") {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  if (how == "logic") throw std::logic_error("two and two");
  if (how == "number") throw 4;
}

std::string TextOf(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

grpc::ByteBuffer BytesOf(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

// Says what it was told, until it is told to fail: "over" when the stream is over, "begin" at once.
class EchoHandler final : public StreamHandler {
 public:
  EchoHandler(StreamCall& call, const std::string& begin) : call_(call) {
    Fail(begin);
    call_.Read();
  }
  void OnMessage(grpc::ByteBuffer& message) override {
    const std::string text = TextOf(message);
    Fail(text);
    fails_at_end_ = text == "over";
    fails_when_written_ = text == "written";
    call_.Write(message);
    call_.Read();
  }
  void OnMessagesEnd() override { call_.Finish(absl::OkStatus()); }
  void OnWritten() override {
    if (fails_when_written_) throw std::bad_alloc();
  }
  void OnOver() override {
    if (fails_at_end_) throw std::bad_alloc();
  }

 private:
  StreamCall& call_;
  bool fails_at_end_ = false;
  bool fails_when_written_ = false;
};

// A server with handlers of this test.
class RpcFailuresTest : public ::testing::Test {
 protected:
  RpcFailuresTest() {
    service_.AddUnary("Echo", kLimits, [](UnaryCall& call) {
      const std::string text = TextOf(call.request());
      Fail(text);
      call.Finish(BytesOf(text));
    });
    service_.AddUnary("FailLater", kLimits, [](UnaryCall& call) {
      const std::string text = TextOf(call.request());
      std::thread([&call, text] { call.Guard([&] { Fail(text); }); }).detach();
    });
    service_.AddUnary("FailAfterwards", kLimits, [](UnaryCall& call) {
      const std::string text = TextOf(call.request());
      call.Finish(BytesOf(text));
      Fail(text);
    });
    MethodLimits counted = kLimits;
    counted.admission = &admission_;
    service_.AddUnary("Counted", counted, [this](UnaryCall& call) {
      EXPECT_EQ(admission_.usage(), (Admission::Usage{1, call.request().Length()}));
      call.Finish(BytesOf(TextOf(call.request()) + "!"));
    });
    service_.AddStream("EchoStream", counted, [this](StreamCall& call) {
      return std::make_unique<EchoHandler>(call, TakeBegin());
    });
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    poller_.emplace(builder.AddCompletionQueue(), std::chrono::minutes(1));
    server_ = builder.BuildAndStart();
    service_.Accept(*poller_);
    poller_->Start();
    channel_ = server_->InProcessChannel({});
  }
  ~RpcFailuresTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
    poller_->Stop();
    EXPECT_EQ(admission_.usage(), Admission::Usage());
  }

  grpc::Status Call(const std::string& method, const std::string& text) {
    return CallByName(channel_, "/test.Service/" + method, text).first;
  }
  // Says how the next stream fails before it has begun.
  void FailToBegin(const std::string& how) {
    MutexLock lock(mutex_);
    begin_ = how;
  }
  std::string TakeBegin() {
    MutexLock lock(mutex_);
    return std::exchange(begin_, "");
  }
  RawStream Stream() { return RawStream(channel_, "/test.Service/EchoStream"); }

  Admission admission_{{.max_requests = 2, .max_bytes = 100}};
  Mutex mutex_;
  std::string begin_ ABSL_GUARDED_BY(mutex_);
  RpcService service_{"test.Service"};
  std::optional<Poller> poller_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

void ExpectMemoryError(const grpc::Status& status) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "OUT_OF_MEMORY");
  EXPECT_TRUE(MayRetry(status));
}

TEST_F(RpcFailuresTest, ExceptionsBecomeErrorsOfTheirCall) {
  for (int round = 0; round < 3; ++round) {
    for (const char* method : {"Echo", "FailLater"}) {
      ExpectMemoryError(Call(method, "memory"));
      ExpectMemoryError(Call(method, "thread"));
      for (const char* how : {"logic", "number"}) {
        const grpc::Status status = Call(method, how);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
        EXPECT_EQ(ReasonOf(status), "INTERNAL_ERROR");
      }
    }
    EXPECT_THAT(Call("Echo", "logic").error_message(), HasSubstr("two and two"));
    EXPECT_TRUE(Call("FailAfterwards", "memory").ok());
    EXPECT_TRUE(Call("Echo", "nothing").ok());
  }
}

TEST_F(RpcFailuresTest, ExceptionsEndTheirStream) {
  for (const char* begin : {"memory", "thread"}) {
    FailToBegin(begin);
    RawStream stream = Stream();
    EXPECT_EQ(stream.Read(), std::nullopt);
    ExpectMemoryError(stream.Finish());
  }
  for (const char* how : {"memory", "thread", "logic"}) {
    RawStream stream = Stream();
    ASSERT_TRUE(stream.Write("first"));
    EXPECT_EQ(stream.Read(), "first");
    ASSERT_TRUE(stream.Write(how));
    EXPECT_EQ(stream.Read(), std::nullopt);
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(ReasonOf(status), how == std::string("logic") ? "INTERNAL_ERROR" : "OUT_OF_MEMORY");
  }
  {
    RawStream stream = Stream();
    ASSERT_TRUE(stream.Write("written"));
    EXPECT_EQ(stream.Read(), "written");
    EXPECT_EQ(stream.Read(), std::nullopt);
    ExpectMemoryError(stream.Finish());
  }
  {
    RawStream stream = Stream();
    ASSERT_TRUE(stream.Write("over"));
    EXPECT_EQ(stream.Read(), "over");
    stream.WritesDone();
    EXPECT_EQ(stream.Read(), std::nullopt);
    EXPECT_TRUE(stream.Finish().ok());
  }
}

TEST_F(RpcFailuresTest, LargeRequestsReachNoHandler) {
  EXPECT_EQ(ReasonOf(Call("Echo", std::string(1025, 'x'))), "REQUEST_TOO_LARGE");
  EXPECT_TRUE(Call("Echo", std::string(1024, 'x')).ok());
  RawStream stream = Stream();
  ASSERT_TRUE(stream.Write(std::string(1024, 'x')));
  EXPECT_EQ(stream.Read(), std::string(1024, 'x'));
  ASSERT_TRUE(stream.Write(std::string(1025, 'x')));
  EXPECT_EQ(stream.Read(), std::nullopt);
  EXPECT_EQ(ReasonOf(stream.Finish()), "REQUEST_TOO_LARGE");
}

TEST_F(RpcFailuresTest, CallsAndStreamsAreCounted) {
  EXPECT_TRUE(Call("Counted", std::string(99, 'x')).ok());
  EXPECT_EQ(ReasonOf(Call("Counted", std::string(101, 'x'))), "REQUEST_EXCEEDS_BUDGET");
  // The answer has a byte more.
  EXPECT_EQ(ReasonOf(Call("Counted", std::string(100, 'x'))), "REQUEST_EXCEEDS_BUDGET");
  {
    RawStream first = Stream();
    RawStream second = Stream();
    for (RawStream* stream : {&first, &second}) {
      ASSERT_TRUE(stream->Write("here"));
      EXPECT_EQ(stream->Read(), "here");
    }
    RawStream third = Stream();
    EXPECT_EQ(third.Read(), std::nullopt);
    EXPECT_EQ(ReasonOf(third.Finish()), "TOO_MANY_REQUESTS");
    for (RawStream* stream : {&first, &second}) {
      stream->WritesDone();
      EXPECT_EQ(stream->Read(), std::nullopt);
      EXPECT_TRUE(stream->Finish().ok());
    }
  }
}

}  // namespace
}  // namespace opserve::testing
