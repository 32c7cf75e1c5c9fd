// A stream of the client over a script: tests read what it sends and play the server.

#ifndef OPSERVE_TESTS_UNIT_CLIENT_STREAM_STREAM_FIXTURE_H_
#define OPSERVE_TESTS_UNIT_CLIENT_STREAM_STREAM_FIXTURE_H_

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/stream/stream_core.h"
#include "gtest/gtest.h"
#include "opserve/sequence.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/mutex.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::testing {

// Time passes when a test says so. Thread-safe. What is due runs then, on the thread of the test.
class ManualClock final : public client_internal::ClientClock {
 public:
  absl::Time Now() override {
    const MutexLock lock(mutex_);
    return now_;
  }
  void SleepFor(absl::Duration) override { ADD_FAILURE() << "a stream sleeps"; }
  Key RunAfter(absl::Duration delay, std::function<void()> action) override {
    const MutexLock lock(mutex_);
    const Key key = {now_ + delay, ++last_number_};
    pending_.emplace(key, std::move(action));
    return key;
  }
  void Cancel(const Key& key) override {
    const MutexLock lock(mutex_);
    pending_.erase(key);
  }

  void Advance(absl::Duration duration) {
    {
      const MutexLock lock(mutex_);
      now_ += duration;
    }
    while (const std::function<void()> action = TakeDue()) action();
  }

  size_t pending() const {
    const MutexLock lock(mutex_);
    return pending_.size();
  }

 private:
  // What is due first; nothing where nothing is due.
  std::function<void()> TakeDue() {
    const MutexLock lock(mutex_);
    const auto first = pending_.begin();
    if (first == pending_.end() || first->first.first > now_) return nullptr;
    std::function<void()> action = std::move(first->second);
    pending_.erase(first);
    return action;
  }

  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::UnixEpoch();
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Key, std::function<void()>> pending_ ABSL_GUARDED_BY(mutex_);
};

// The server's side of a stream. Its user may Finish it on another thread.
class ScriptedStream final : public client_internal::RawStream {
 public:
  void Start(std::shared_ptr<Observer> observer) override { observer_ = std::move(observer); }
  void Write(grpc::ByteBuffer message, bool is_followed) override {
    const MutexLock lock(mutex_);
    EXPECT_FALSE(is_writing_) << "the message before is still being written";
    EXPECT_FALSE(messages_ended_);
    is_writing_ = true;
    is_followed_ = is_followed;
    sending_.Swap(&message);
  }
  void WritesDone() override { half_closed_.set_value(); }
  void Cancel() override { is_cancelled_ = true; }
  void Judge(const absl::Status& refusal) override { judged_.push_back(refusal); }
  void Reclaim(std::shared_ptr<client_internal::PayloadHold> hold) override {
    EXPECT_FALSE(hold->IsReleased());
    ++reclaimed_;
  }

  // The message that is being written, from now on written; nullopt where there is none.
  std::optional<v1::ExecuteStreamRequest> Receive() {
    std::optional<v1::ExecuteStreamRequest> message = Peek();
    if (message) Proceed();
    return message;
  }
  // The same without its end: what it has borrowed stays so.
  std::optional<v1::ExecuteStreamRequest> Peek() {
    const MutexLock lock(mutex_);
    if (!is_writing_) return std::nullopt;
    v1::ExecuteStreamRequest message;
    EXPECT_TRUE(message.ParseFromString(BytesOf(sending_)));
    return message;
  }
  // Whether the message that is being written may wait for another.
  bool is_followed() const {
    const MutexLock lock(mutex_);
    return is_writing_ && is_followed_;
  }
  // Ends the write. `keeps` its memory until Release.
  void Proceed(bool keeps = false) {
    {
      const MutexLock lock(mutex_);
      if (keeps) kept_.push_back(sending_);
      sending_.Clear();
      is_writing_ = false;
    }
    observer_->OnWritten();
  }
  void Release() {
    // Without the lock: who lent the memory may write the next message.
    std::vector<grpc::ByteBuffer> kept;
    grpc::ByteBuffer sending;
    const MutexLock lock(mutex_);
    kept.swap(kept_);
    sending.Swap(&sending_);
  }

  void Send(const std::string& bytes) {
    grpc::ByteBuffer buffer = BufferOf(bytes, 7);
    observer_->OnMessage(buffer);
  }
  void Send(const v1::ExecuteStreamResponse& message) { Send(message.SerializeAsString()); }

  void End(const absl::Status& status) {
    messages_ended_ = true;
    const std::shared_ptr<Observer> observer = std::exchange(observer_, nullptr);
    observer->OnMessagesEnd();
    observer->OnEnd(status);
  }

  bool has_ended() const { return messages_ended_; }
  bool is_cancelled() const { return is_cancelled_; }
  int reclaimed() const { return reclaimed_; }
  const std::vector<absl::Status>& judged() const { return judged_; }
  void WaitForHalfClose() { half_closed_.get_future().wait(); }

 private:
  std::shared_ptr<Observer> observer_;
  std::promise<void> half_closed_;
  int reclaimed_ = 0;
  std::vector<absl::Status> judged_;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> messages_ended_ = false;
  mutable Mutex mutex_;
  std::vector<grpc::ByteBuffer> kept_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer sending_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_followed_ ABSL_GUARDED_BY(mutex_) = false;
};

// What a callback was told.
struct StreamOutcome {
  absl::StatusOr<Tensor> output = absl::UnknownError("not called");
  // Of a sequence, `output` being the first.
  std::vector<SequenceResult> outputs;
  ExecutionInfo info;
  int calls = 0;
};

// The first message of an answer of UINT8 with `bytes` bytes in all.
inline v1::ExecuteStreamResponse AnswerTo(uint64_t id, const std::string& payload, uint64_t bytes) {
  v1::ExecuteStreamResponse answer;
  answer.set_id(id);
  v1::TensorDesc* output = answer.mutable_response()->mutable_output();
  output->set_data_type(v1::DATA_TYPE_UINT8);
  output->add_sizes(static_cast<uint32_t>(bytes));
  answer.mutable_response()->mutable_execution()->set_device("cpu");
  answer.set_payload_bytes(bytes);
  answer.set_payload(payload);
  return answer;
}

inline v1::ExecuteStreamResponse AnswerTo(uint64_t id, const std::string& payload) {
  return AnswerTo(id, payload, payload.size());
}

inline v1::ExecuteStreamResponse PieceFor(uint64_t id, const std::string& payload) {
  v1::ExecuteStreamResponse piece;
  piece.set_id(id);
  piece.set_payload(payload);
  return piece;
}

inline std::string TextOf(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
}

// A stream whose requests have 10 s, in pieces of 64 KiB.
class ClientStreamTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kPiece = uint64_t{64} << 10;
  static constexpr absl::Duration kTime = absl::Seconds(10);

  // No request is so large that it is offered, unless a test says so.
  explicit ClientStreamTest(uint64_t pipelined_from_bytes = UINT64_MAX) {
    auto raw = std::make_unique<ScriptedStream>();
    server_ = raw.get();
    StreamOptions options;
    options.piece_bytes = kPiece;
    options.max_bytes_in_flight = uint64_t{1} << 20;
    options.pipelined_from_bytes = pipelined_from_bytes;
    stream_ = std::make_shared<client_internal::StreamCore>(options, kTime, buffers_, clock_,
                                                            std::move(raw));
    stream_->Start();
  }

  ~ClientStreamTest() override {
    server_->Release();
    if (!server_->has_ended()) server_->End(absl::CancelledError("end of the test"));
    clock_.Advance(absl::ZeroDuration());
    stream_->Finish(absl::InfiniteDuration()).IgnoreError();
  }

  // Submits a call of one tensor of these bytes.
  uint64_t Submit(const std::string& text, std::optional<absl::Duration> timeout = {}) {
    const std::string& bytes = inputs_.emplace_back(text);
    OperatorCall call;
    call.operator_name = "X";
    call.inputs = {TensorView({DataType::kUint8, {static_cast<uint32_t>(bytes.size())}, {}},
                              std::as_bytes(std::span(bytes)))};
    const auto outcome = std::make_shared<StreamOutcome>();
    const uint64_t id = stream_->Submit(
        call,
        [outcome](absl::StatusOr<Tensor> output, const ExecutionInfo& info) {
          outcome->output = std::move(output);
          outcome->info = info;
          ++outcome->calls;
        },
        timeout);
    outcomes_[id] = outcome;
    return id;
  }

  // Submits a sequence of one step on a tensor of these bytes.
  uint64_t SubmitSequence(const std::string& text, std::vector<SequenceOutput> outputs = {}) {
    const std::string& bytes = inputs_.emplace_back(text);
    const OperatorSequence sequence = {
        .inputs = {TensorView({DataType::kUint8, {static_cast<uint32_t>(bytes.size())}, {}},
                              std::as_bytes(std::span(bytes)))},
        .steps = {{.operator_name = "X", .inputs = {FromInput(0)}}},
        .outputs = std::move(outputs)};
    const auto outcome = std::make_shared<StreamOutcome>();
    const auto done = [outcome](absl::StatusOr<std::vector<SequenceResult>> results,
                                const ExecutionInfo& info) {
      if (results.ok()) {
        outcome->output = *results->front().tensor;
        outcome->outputs = *std::move(results);
      } else {
        outcome->output = results.status();
      }
      outcome->info = info;
      ++outcome->calls;
    };
    const uint64_t id = stream_->Submit(sequence, done, {});
    outcomes_[id] = outcome;
    return id;
  }

  bool IsDone(uint64_t id) {
    EXPECT_LE(outcomes_[id]->calls, 1);
    return outcomes_[id]->calls == 1;
  }
  StreamOutcome& Outcome(uint64_t id) {
    EXPECT_TRUE(IsDone(id)) << id;
    return *outcomes_[id];
  }
  absl::Status StatusOf(uint64_t id) { return Outcome(id).output.status(); }

  std::deque<std::string> inputs_;  // whose elements never move
  ManualClock clock_;
  HostBufferPool buffers_{1 << 20};
  ScriptedStream* server_;
  std::shared_ptr<client_internal::StreamCore> stream_;
  std::map<uint64_t, std::shared_ptr<StreamOutcome>> outcomes_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_CLIENT_STREAM_STREAM_FIXTURE_H_
