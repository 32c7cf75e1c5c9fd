// File: tests/integration/test_stream.h
//
// A stream of ExecuteStream as messages, and what came of it.

#ifndef OPSERVE_TESTS_INTEGRATION_TEST_STREAM_H_
#define OPSERVE_TESTS_INTEGRATION_TEST_STREAM_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/requests.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {

// Puts a request without payloads into the message that begins it.
inline void SetRequest(v1::ExecuteRequest request, v1::ExecuteStreamRequest& message) {
  request.clear_payloads();
  *message.mutable_request() = std::move(request);
}
inline void SetRequest(v1::ExecuteSequenceRequest request, v1::ExecuteStreamRequest& message) {
  request.clear_payloads();
  message.mutable_request();
  *message.mutable_sequence() = std::move(request);
}

// What came for one request.
struct StreamedAnswer {
  int messages = 0;
  bool has_response = false;
  v1::ExecuteResponse response;
  // That to a sequence; set and empty with an error about one.
  std::optional<v1::ExecuteSequenceResponse> sequence;
  uint64_t payload_bytes = 0;
  std::string payload;
  // Of an answer with several payloads: their lengths, and those after the first.
  std::vector<uint64_t> each_payload_bytes;
  std::vector<std::string> later_payloads;
  rpc::Status error;

  // What an offer was answered with; nullopt: it was not.
  std::optional<v1::PipelineTerms> terms;

  bool is_in_runs() const { return terms && terms->run_bytes_size() > 0; }
  bool is_complete() const {
    if (error.code() != 0) return true;
    return received_bytes() == payload_bytes && (!is_in_runs() || has_response);
  }
  uint64_t received_bytes() const {
    uint64_t bytes = payload.size();
    for (const std::string& later : later_payloads) bytes += later.size();
    return bytes;
  }
  // How many messages the results of a run come in.
  uint64_t messages_per_run() const { return std::max<uint64_t>(each_payload_bytes.size(), 1); }

  void AddPiece(const v1::ExecuteStreamResponse& message) {
    const uint32_t number = message.payload_number();
    if (number > later_payloads.size()) later_payloads.resize(number);
    (number == 0 ? payload : later_payloads[number - 1]) += message.payload();
  }
};

// A stream and what came from it.
class TestStream {
 public:
  explicit TestStream(Stub& stub) {
    // Beyond what a simulated clock is advanced by.
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(2));
    stream_ = stub.ExecuteStream(&context_);
  }

  bool Write(const v1::ExecuteStreamRequest& message) { return stream_->Write(message); }

  // Requests are of one operator, or sequences.

  // Sends a request whole.
  template <class Request>
  bool Send(uint64_t id, Request request) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    message.mutable_payloads()->Swap(request.mutable_payloads());
    SetRequest(std::move(request), message);
    return Write(message);
  }

  // Announces a request whose payloads come later.
  template <class Request>
  bool Announce(uint64_t id, Request request) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    for (const std::string& payload : request.payloads()) {
      message.add_payload_bytes(payload.size());
    }
    SetRequest(std::move(request), message);
    return Write(message);
  }

  // Offers to send a request run by run, and reads until the server has said how. Whether there are
  // runs; false also where the request was refused.
  template <class Request>
  bool Offer(uint64_t id, Request request, uint64_t run_bytes, bool sends_ahead = true) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    for (const std::string& payload : request.payloads()) {
      message.mutable_pipeline()->add_payload_bytes(payload.size());
    }
    message.mutable_pipeline()->set_run_bytes(run_bytes);
    message.mutable_pipeline()->set_sends_ahead(sends_ahead);
    SetRequest(std::move(request), message);
    EXPECT_TRUE(Write(message));
    answers_[id] = {};
    while (!answers_[id].terms) {
      if (!ReadMessage()) return false;
    }
    return answers_[id].is_in_runs();
  }

  // Sends the part of each payload that belongs to a run.
  template <class Request>
  bool SendRun(uint64_t id, const Request& request, uint64_t run) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    for (int i = 0; i < request.payloads_size(); ++i) {
      const uint64_t bytes = answers_[id].terms->run_bytes(i);
      message.add_payloads(request.payloads(i).substr(run * bytes, bytes));
    }
    return Write(message);
  }

  // Sends the payloads that the terms want before the first run, each in a piece.
  template <class Request>
  bool SendAhead(uint64_t id, const Request& request) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    for (int i = 0; i < request.payloads_size(); ++i) {
      if (answers_[id].terms->run_bytes(i) == 0) message.add_payloads(request.payloads(i));
    }
    return message.payloads_size() == 0 || Write(message);
  }

  // Sends all that the terms want, never more runs than may be open, and reads until the answer is
  // complete.
  template <class Request>
  void ExchangeRuns(uint64_t id, const Request& request) {
    const v1::PipelineTerms terms = *answers_[id].terms;
    uint64_t runs = 0;
    for (int i = 0; i < request.payloads_size(); ++i) {
      const uint64_t bytes = terms.run_bytes(i);
      if (bytes > 0) runs = (request.payloads(i).size() + bytes - 1) / bytes;
    }
    ASSERT_TRUE(SendAhead(id, request));
    uint64_t sent = 0;
    while (!answers_[id].has_response && answers_[id].error.code() == 0) {
      const uint64_t answered =
          static_cast<uint64_t>(answers_[id].messages) / answers_[id].messages_per_run();
      if (sent < runs && sent - answered < terms.max_open_runs()) {
        ASSERT_TRUE(SendRun(id, request, sent++));
      } else if (!ReadMessage()) {
        return;
      }
    }
  }

  bool SendPiece(uint64_t id, std::string piece) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    message.add_payloads(std::move(piece));
    return Write(message);
  }

  bool Cancel(uint64_t id) {
    v1::ExecuteStreamRequest message;
    message.set_id(id);
    message.set_cancel(true);
    return Write(message);
  }

  // Reads until one more answer is complete; its id. Fails the test where the stream ends before.
  uint64_t ReadAnswer() {
    for (;;) {
      const std::optional<uint64_t> id = ReadMessage();
      if (!id) return UINT64_MAX;
      const StreamedAnswer& answer = answers_[*id];
      const bool is_before_answer = answer.terms && answer.messages == 0;
      if (!is_before_answer && answer.is_complete()) return *id;
    }
  }

  // Reads one message; its id. Fails the test where the stream ends before.
  std::optional<uint64_t> ReadMessage() {
    v1::ExecuteStreamResponse message;
    if (!stream_->Read(&message)) {
      ADD_FAILURE() << "the stream has ended";
      return std::nullopt;
    }
    StreamedAnswer& answer = answers_[message.id()];
    if (message.payload_bytes() > 0) {
      answer.payload_bytes = message.payload_bytes();
      answer.each_payload_bytes.assign(message.each_payload_bytes().begin(),
                                       message.each_payload_bytes().end());
    }
    // Terms are no part of an answer. Empty ones come with an error, and say nothing where there
    // are some already.
    if (message.has_pipeline() && !answer.terms) answer.terms = message.pipeline();
    if (message.has_pipeline() && message.error().empty()) return message.id();
    ++answer.messages;
    if (message.has_response()) {
      answer.response = message.response();
      answer.has_response = true;
    }
    if (message.has_sequence()) {
      answer.sequence = message.sequence();
      answer.has_response = message.error().empty();
    }
    answer.AddPiece(message);
    if (!message.error().empty()) answer.error.ParseFromString(message.error());
    return message.id();
  }

  StreamedAnswer& answer(uint64_t id) { return answers_[id]; }

  // Sends nothing more, and waits for the end. No more messages may come before it.
  grpc::Status Finish() {
    stream_->WritesDone();
    return WaitForEnd();
  }

  // Waits until the server ends the stream. No more messages may come before.
  grpc::Status WaitForEnd() {
    v1::ExecuteStreamResponse message;
    EXPECT_FALSE(stream_->Read(&message)) << message.ShortDebugString().substr(0, 200);
    return stream_->Finish();
  }

  // Reads until the server ends the stream, whatever comes before.
  grpc::Status ReadEnd() {
    v1::ExecuteStreamResponse message;
    while (stream_->Read(&message)) {
    }
    return stream_->Finish();
  }

  void TryCancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>>
      stream_;
  std::map<uint64_t, StreamedAnswer> answers_;
};

inline std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1000) / 4 - 100;
  return values;
}

inline std::string Rounded(std::vector<float> values) {
  for (float& value : values) value = std::nearbyint(value);
  return BytesOf(values);
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_TEST_STREAM_H_
