// File: tests/integration/raw_calls.h
//
// Calls by the name of their method, with bytes in the place of messages, as clients without stubs
// make them.

#ifndef OPSERVE_TESTS_INTEGRATION_RAW_CALLS_H_
#define OPSERVE_TESTS_INTEGRATION_RAW_CALLS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace opserve::testing {

// Calls a unary method, such as "/grpc.health.v1.Health/Check", and waits for its answer.
std::pair<grpc::Status, std::string> CallByName(const std::shared_ptr<grpc::Channel>& channel,
                                                const std::string& method,
                                                const std::string& request);

// A stream in both directions, which blocks until each step is done. Ended by its destructor. Not
// thread-safe.
class RawStream {
 public:
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method);
  ~RawStream();
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  // False where the stream is broken.
  bool Write(const std::string& message);
  // Waits until an answer has begun, and takes nothing of it. Before the first Read.
  bool WaitForAnswer();
  // The next message; nullopt at the end.
  std::optional<std::string> Read();
  // No more messages are sent.
  void WritesDone();
  // Waits for the end that the server gives the stream. To be called once, and nothing after it.
  grpc::Status Finish();

 private:
  // Whether the operation that was started has succeeded.
  bool Wait();

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool is_finished_ = false;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_RAW_CALLS_H_
