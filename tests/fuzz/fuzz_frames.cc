// Fuzzes the edge's look at HTTP/2 frames: whatever a client sends in whatever pieces, gRPC behind
// it never waits for messages longer than one may be, nor for more of a client than it may have
// under way, and what counts for the client is gone with the connection.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/edge/frame_meter.h"
#include "tests/fuzz/require.h"
#include "tests/testing/frame_bytes.h"
#include "tests/testing/message_reader.h"

namespace opserve::fuzz {
namespace {

using testing::FrameOf;
using testing::MessageReader;

constexpr size_t kLargest = 10'000;
constexpr size_t kMostOfClient = 25'000;
// Of a message that is this short or has come so far nobody waits for much.
constexpr size_t kShortMessage = 4096;
constexpr size_t kMostPayload = 3000;

// A connection behind the meter.
class Connection {
 public:
  explicit Connection(FuzzedDataProvider& data) : data_(data) {
    std::string preface = testing::kPreface;
    Require(meter_.Take(absl::MakeSpan(preface), now_) == CloseReason::kNone);
    is_open_ = Pass(FrameOf(testing::kSettings, 0));
  }
  ~Connection() {
    meter_.Stop();
    Require(client_->waiting_calls.count() == 0);
    Require(client_->arriving_bytes.count() == 0 && client_->arriving_bytes.kept() == 0);
  }

  bool is_open() const { return is_open_; }

  void Step() {
    const auto action = data_.ConsumeIntegralInRange<int>(0, 9);
    if (action == 0) return Begin();
    if (action == 1) return ClientResets();
    if (action == 2) return ServerEnds();
    if (action == 3) return Wait();
    if (action == 4) return Other();
    Data();
  }

 private:
  // One that was begun, or the next.
  uint32_t AnyStream() {
    const uint32_t stream = 1 + 2 * data_.ConsumeIntegralInRange<uint32_t>(0, begun_);
    // gRPC has none that was not begun.
    if (stream == 1 + 2 * begun_) grpc_.streams[stream].is_reset = true;
    return stream;
  }

  bool Seldom() { return data_.ConsumeIntegralInRange<int>(0, 31) == 0; }

  // Of a message: anything, or next to the limit.
  uint32_t AnyLength() {
    if (data_.ConsumeBool()) return data_.ConsumeIntegral<uint32_t>();
    return data_.ConsumeIntegralInRange<uint32_t>(kLargest - 99, kLargest + 1);
  }

  void Begin() {
    const uint8_t flags = Seldom() ? data_.ConsumeIntegral<uint8_t>() : uint8_t{0};
    const uint32_t stream = 1 + 2 * begun_++;
    grpc_.streams[stream] = {};
    is_open_ = Pass(FrameOf(testing::kHeaders, stream, "h", flags));
    if ((flags & testing::kEndStream) != 0) grpc_.streams[stream].is_reset = true;
  }

  void Data() {
    const uint32_t stream = AnyStream();
    std::string payload;
    if (data_.ConsumeBool()) {
      payload = testing::PrefixOf(AnyLength(), data_.ConsumeIntegral<char>());
    }
    payload.append(data_.ConsumeIntegralInRange<size_t>(0, kMostPayload), 'x');
    payload.resize(std::min(payload.size(), data_.ConsumeIntegralInRange<size_t>(0, kMostPayload)));
    uint8_t flags = 0;
    if (Seldom()) flags = Seldom() ? data_.ConsumeIntegral<uint8_t>() : testing::kEndStream;
    MessageReader::Stream& seen = grpc_.streams[stream];
    const auto message = [&seen] { return std::pair(seen.messages.size(), seen.announced); };
    const auto before = message();
    goes_on_.erase(stream);
    is_open_ = Pass(FrameOf(testing::kData, stream, payload, flags));
    if (!is_open_) return;
    if (before == message()) goes_on_.insert(stream);
    CheckWaiting();
    if ((flags & testing::kEndStream) != 0) grpc_.streams[stream].is_reset = true;
  }

  void ClientResets() {
    const uint32_t stream = AnyStream();
    is_open_ = Pass(FrameOf(testing::kReset, stream, "code"));
    grpc_.streams[stream].is_reset = true;
  }

  void ServerEnds() {
    const uint32_t stream = AnyStream();
    const std::string frame = FrameOf(testing::kReset, stream, "code");
    absl::string_view left = frame;
    meter_.TakeSent([&left] { return std::exchange(left, {}); }, now_);
    grpc_.streams[stream].is_reset = true;
  }

  void Wait() {
    now_ += std::chrono::milliseconds(data_.ConsumeIntegral<uint16_t>());
    is_open_ = meter_.OnTick(now_) == CloseReason::kNone;
  }

  // A frame of any type, which begins no call and has nothing for one.
  void Other() {
    const auto type = static_cast<testing::FrameType>(data_.ConsumeIntegralInRange<int>(2, 255));
    const uint32_t stream = AnyStream();
    const std::string payload = data_.ConsumeRandomLengthString(40);
    is_open_ = Pass(FrameOf(type, stream, payload, data_.ConsumeIntegral<uint8_t>()));
    if (type == testing::kReset) grpc_.streams[stream].is_reset = true;
  }

  // Sends the bytes in pieces; returns whether the connection goes on.
  bool Pass(std::string bytes) {
    absl::Span<char> left = absl::MakeSpan(bytes);
    while (!left.empty()) {
      const size_t count =
          data_.ConsumeBool() ? left.size() : data_.ConsumeIntegralInRange<size_t>(1, left.size());
      const absl::Span<char> piece = left.subspan(0, count);
      const CloseReason reason = meter_.Take(piece, now_);
      if (reason != CloseReason::kNone) {
        Require(meter_.OnTick(now_) == reason);
        return false;
      }
      grpc_.Take({piece.data(), piece.size()});
      left.remove_prefix(count);
      CheckWaiting();
    }
    return true;
  }

  void CheckWaiting() {
    uint64_t waited_for = 0;
    for (const auto& [id, stream] : grpc_.streams) {
      if (stream.is_reset || stream.announced <= kShortMessage || !goes_on_.contains(id)) continue;
      Require(stream.announced <= kLargest);
      waited_for += stream.announced;
    }
    Require(waited_for <= kMostOfClient);
  }

  FuzzedDataProvider& data_;
  const FrameLimits limits_ = {
      .messages = {.max_message_bytes = kLargest, .max_arriving_bytes = kMostOfClient}};
  const std::shared_ptr<ClientTraffic> client_ = std::make_shared<ClientTraffic>();
  FrameMeter meter_{limits_, client_};
  MessageReader grpc_;
  // Those whose last frame was of a message that was begun before. Of a prefix that lies across
  // reads or frames gRPC may have had too much, until the next frame.
  std::set<uint32_t> goes_on_;
  Clock::TimePoint now_{std::chrono::seconds(1000)};
  uint32_t begun_ = 0;
  bool is_open_ = true;
};

}  // namespace
}  // namespace opserve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  opserve::fuzz::Connection connection(data);
  while (connection.is_open() && data.remaining_bytes() > 0) connection.Step();
  return 0;
}
