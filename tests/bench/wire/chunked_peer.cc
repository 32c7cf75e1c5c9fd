// An echo of streams on a completion queue that one thread polls: each message goes back as it
// comes, while the next ones come.

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "grpcpp/server_context.h"
#include "grpcpp/support/async_stream.h"
#include "tests/bench/wire/echo.grpc.pb.h"
#include "tests/bench/wire/peer.h"
#include "tests/bench/wire/spoil.h"

namespace opserve::wire_bench {
namespace {

using ChunkedService = ChunkedEcho::WithRawMethod_Echo<ChunkedEcho::Service>;

// One stream after the other.
class ChunkedStream {
 public:
  ChunkedStream(ChunkedService& service, grpc::ServerCompletionQueue& queue, bool spoil)
      : service_(service), queue_(queue), spoil_(spoil) {}

  // An operation of one stream, which is what the queue's tags point to.
  struct Tag {
    ChunkedStream& stream;
    // Returns false when no more streams come.
    bool (ChunkedStream::*proceed)(bool ok);
  };

  // Waits for the next stream.
  void Request() {
    is_reading_ = is_writing_ = has_ended_ = false;
    waiting_.clear();
    stream_.reset();
    context_.emplace();
    stream_.emplace(&*context_);
    service_.RequestEcho(&*context_, &*stream_, &queue_, &queue_, &begin_);
  }

 private:
  // Messages that wait to be sent at most: a window of opserve's with pieces of 512 KiB.
  static constexpr size_t kMostWaiting = 16;

  bool OnBegin(bool ok) {
    if (!ok) return false;
    Read();
    return true;
  }

  bool OnRead(bool ok) {
    is_reading_ = false;
    has_ended_ = has_ended_ || !ok;
    if (ok) waiting_.push_back(std::exchange(message_, {}));
    return GoOn();
  }

  bool OnWritten(bool ok) {
    is_writing_ = false;
    has_ended_ = has_ended_ || !ok;
    if (!ok) waiting_.clear();
    return GoOn();
  }

  bool OnFinished(bool /*ok*/) {
    Request();
    return true;
  }

  bool GoOn() {
    Write();
    Read();
    if (has_ended_ && !is_reading_ && !is_writing_) {
      stream_->Finish(grpc::Status::OK, &finish_);
    }
    return true;
  }

  void Read() {
    if (is_reading_ || has_ended_ || waiting_.size() >= kMostWaiting) return;
    is_reading_ = true;
    stream_->Read(&message_, &read_);
  }

  void Write() {
    if (is_writing_ || waiting_.empty()) return;
    is_writing_ = true;
    if (spoil_) Spoil(waiting_.front());
    stream_->Write(waiting_.front(), &write_);
    waiting_.pop_front();
  }

  ChunkedService& service_;
  grpc::ServerCompletionQueue& queue_;
  const bool spoil_;
  Tag begin_{*this, &ChunkedStream::OnBegin};
  Tag read_{*this, &ChunkedStream::OnRead};
  Tag write_{*this, &ChunkedStream::OnWritten};
  Tag finish_{*this, &ChunkedStream::OnFinished};
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool has_ended_ = false;  // nothing more comes, or nothing more can be sent
  grpc::ByteBuffer message_;
  std::deque<grpc::ByteBuffer> waiting_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

class ChunkedPeer : public Peer {
 public:
  explicit ChunkedPeer(bool spoil) : spoil_(spoil) {}

  void Register(grpc::ServerBuilder& builder) override {
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
  }

  void Start() override {
    // As many streams can be open at once.
    constexpr int kStreams = 8;
    for (int i = 0; i < kStreams; ++i) {
      streams_.push_back(std::make_unique<ChunkedStream>(service_, *queue_, spoil_));
      streams_.back()->Request();
    }
    poller_ = std::thread([this] { Poll(); });
  }

  void Stop() override { poller_.join(); }

 private:
  void Poll() {
    size_t waiting = streams_.size();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      const auto& event = *static_cast<const ChunkedStream::Tag*>(tag);
      if ((event.stream.*event.proceed)(ok)) continue;
      if (--waiting == 0) queue_->Shutdown();
    }
  }

  const bool spoil_;
  ChunkedService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::unique_ptr<ChunkedStream>> streams_;
  std::thread poller_;
};

}  // namespace

std::unique_ptr<Peer> MakeChunkedPeer(bool spoil) { return std::make_unique<ChunkedPeer>(spoil); }

}  // namespace opserve::wire_bench
