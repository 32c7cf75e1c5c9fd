#include "tests/bench/wire/stream_load.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/bench/wire/answer_check.h"
#include "tests/bench/wire/received_bytes.h"
#include "tests/bench/wire/stream_answer.h"

namespace opserve::wire_bench {
namespace {

constexpr std::chrono::seconds kLongestPause(60);

// One of the requests that are under way.
struct StreamSlot {
  uint64_t id = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
  // How much of the payload may have been sent by now, in pieces of which size.
  uint64_t may_send = 0;
  uint64_t piece_bytes = kPieceBytes;
  bool has_offered = false;
  bool check_all = true;
  SteadyClock::time_point began = {};
  SteadyClock::time_point first_piece = {};  // of the answer
};

class StreamLoad {
 public:
  StreamLoad(const std::shared_ptr<grpc::Channel>& channel, const Payload& payload, StreamUse use,
             int concurrency, Meter& meter)
      : payload_(payload),
        calls_(use, payload),
        meter_(meter),
        slots_(static_cast<size_t>(concurrency)),
        stub_(channel),
        stream_(stub_.PrepareCall(&context_, calls_.method(), &queue_)) {}

  absl::Status Run() {
    stream_->StartCall(Tag(kStart));
    for (size_t i = 0; i < slots_.size(); ++i) Begin(i, i);
    ++events_;
    while (events_ > 0) {
      void* tag = nullptr;
      bool ok = false;
      const auto limit = std::chrono::system_clock::now() + kLongestPause;
      if (queue_.AsyncNext(&tag, &ok, limit) != grpc::CompletionQueue::GOT_EVENT) {
        Fail(absl::DeadlineExceededError("the stream does not go on for a minute"));
        continue;
      }
      --events_;
      Proceed(static_cast<Event>(reinterpret_cast<uintptr_t>(tag)), ok);
    }
    queue_.Shutdown();
    return result_;
  }

 private:
  enum Event : uintptr_t { kStart, kRead, kWrite, kWritesDone, kFinish };

  static void* Tag(Event event) { return reinterpret_cast<void*>(event); }

  void Proceed(Event event, bool ok) {
    if (event == kFinish) return OnFinish();
    if (!ok) return OnEnd(event);
    switch (event) {
      case kStart:
        writing_ = false;
        Read();
        Write();
        break;
      case kRead:
        if (result_.ok()) {
          if (absl::Status status = Take(); !status.ok()) Fail(status);
        }
        Read();
        break;
      case kWrite:
        writing_ = false;
        Write();
        break;
      case kWritesDone:
      case kFinish:
        break;
    }
  }

  // An operation failed, or the server has ended the stream.
  void OnEnd(Event event) {
    if (event != kRead && event != kStart) return;
    stream_->Finish(&status_, Tag(kFinish));
    ++events_;
  }

  void OnFinish() {
    if (status_.ok() && (!result_.ok() || under_way_ == 0)) return;
    result_.Update(absl::InternalError(
        absl::StrCat("the stream ended with code ", status_.error_code(), ", ", under_way_,
                     " requests under way: ", status_.error_message())));
  }

  // Ends the stream because of `why`; events still come.
  void Fail(const absl::Status& why) {
    result_.Update(why);
    context_.TryCancel();
  }

  void Begin(size_t slot, uint64_t id) {
    slots_[slot] = {.id = id, .check_all = id == 0 || !more_, .began = SteadyClock::now()};
    if (!calls_.is_offered()) slots_[slot].may_send = payload_.size();
    to_send_.push_back(slot);
    ++under_way_;
  }

  void Read() {
    stream_->Read(&answer_, Tag(kRead));
    ++events_;
  }

  // Sends the next piece, if there is one and no other is being sent.
  void Write() {
    if (writing_ || half_closed_ || !result_.ok()) return;
    if (to_send_.empty()) {
      if (under_way_ > 0) return;
      half_closed_ = true;
      stream_->WritesDone(Tag(kWritesDone));
      ++events_;
      return;
    }
    writing_ = true;
    stream_->Write(NextMessage(), Tag(kWrite));
    ++events_;
  }

  // Of the request whose turn it is.
  grpc::ByteBuffer NextMessage() {
    StreamSlot& slot = slots_[to_send_.front()];
    if (calls_.is_offered() && !slot.has_offered) {
      slot.has_offered = true;
      to_send_.pop_front();
      return calls_.Offer(slot.id);
    }
    if (calls_.is_offered() && slot.sent == 0) slot.began = SteadyClock::now();
    const uint64_t first = slot.sent;
    slot.sent += std::min(slot.may_send - first, slot.piece_bytes);
    if (slot.sent == slot.may_send) to_send_.pop_front();
    return calls_.Piece(slot.id, first, slot.sent - first);
  }

  // More of the payload may be sent.
  void Permit(size_t index, uint64_t bytes) {
    StreamSlot& slot = slots_[index];
    const bool waits = slot.sent == slot.may_send;
    slot.may_send += std::min(bytes, payload_.size() - slot.may_send);
    if (waits && slot.sent < slot.may_send) to_send_.push_back(index);
    Write();
  }

  // Takes the message that was read.
  absl::Status Take() {
    const ReceivedBytes bytes(answer_);
    const absl::StatusOr<StreamAnswer> answer = ReadStreamAnswer(bytes.Header());
    if (!answer.ok()) return answer.status();
    const size_t index = answer->id % slots_.size();
    StreamSlot& slot = slots_[index];
    if (slot.id != answer->id) return absl::InternalError("an answer of the stream has a wrong id");
    const bool are_terms = answer->run_bytes > 0;
    const bool is_first = calls_.is_offered() ? are_terms : slot.received == 0;
    if (is_first && answer->piece_bytes < payload_.size() &&
        answer->payload_bytes != payload_.size()) {
      return absl::InternalError("an answer of the stream announces a wrong length");
    }
    if (are_terms) return TakeTerms(index, *answer);
    if (slot.received + answer->piece_bytes > payload_.size() ||
        answer->piece_offset + answer->piece_bytes != bytes.size()) {
      return absl::InternalError("an answer of the stream has a wrong length");
    }
    if (slot.received == 0) slot.first_piece = SteadyClock::now();
    const Part part = PartOf(slot, answer->piece_bytes);
    if (!bytes.Equal(answer->piece_offset + part.first,
                     calls_.expected().subspan(slot.received + part.first, part.bytes))) {
      return absl::InternalError("an answer of the stream is wrong");
    }
    slot.received += answer->piece_bytes;
    if (slot.received == payload_.size()) {
      Done(index);
    } else if (calls_.is_offered()) {
      Permit(index, slot.piece_bytes);
    }
    return absl::OkStatus();
  }

  absl::Status TakeTerms(size_t index, const StreamAnswer& terms) {
    StreamSlot& slot = slots_[index];
    if (!slot.has_offered || slot.may_send > 0) {
      return absl::InternalError("a request of the stream has terms that it did not ask for");
    }
    slot.piece_bytes = terms.run_bytes;
    Permit(index, terms.run_bytes * terms.max_open_runs);
    return absl::OkStatus();
  }

  // What to check of a piece.
  Part PartOf(const StreamSlot& slot, uint64_t piece_bytes) {
    constexpr uint64_t kBytes = 64;
    if (slot.check_all || !more_ || piece_bytes <= kBytes) return {0, piece_bytes};
    return {random_() % (piece_bytes - kBytes), kBytes};
  }

  void Done(size_t index) {
    --under_way_;
    const StreamSlot& slot = slots_[index];
    const SteadyClock::time_point ended =
        calls_.is_offered() ? slot.first_piece : SteadyClock::now();
    if (!meter_.Done(slot.began, ended)) more_ = false;
    if (more_) Begin(index, slot.id + slots_.size());
    Write();
  }

  const Payload& payload_;
  const StreamCalls calls_;
  Meter& meter_;
  std::vector<StreamSlot> slots_;
  std::deque<size_t> to_send_;  // slots that may send something, in order
  uint64_t under_way_ = 0;
  bool more_ = true;
  bool writing_ = true;  // until the stream is there
  bool half_closed_ = false;
  std::minstd_rand random_;

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
  absl::Status result_;
  int events_ = 0;  // that are still to come
};

}  // namespace

absl::Status RunStreamLoad(const std::shared_ptr<grpc::Channel>& channel, const Payload& payload,
                           StreamUse use, int concurrency, Meter& meter) {
  return StreamLoad(channel, payload, use, concurrency, meter).Run();
}

}  // namespace opserve::wire_bench
