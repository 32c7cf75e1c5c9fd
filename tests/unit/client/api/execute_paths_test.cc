// Which path the tensors of calls take, over a scripted transport and a socket for shared memory
// whose server the test is.

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/api/execute.h"
#include "client/api/staging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/rpc/status.pb.h"
#include "opserve/v1/regions.pb.h"
#include "proto/packets/seqpacket.h"
#include "proto/ring/ring_counter.h"
#include "tests/unit/client/api/scripted_client.h"
#include "tests/unit/client/rpc/statuses.h"

namespace opserve::client_internal {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Exhausted;
using testing::Fixture;
using ::testing::IsEmpty;
using testing::kGone;
using testing::ReceivedFrom;
using ::testing::SizeIs;

// Registers everything, or refuses it.
class RegionServer {
 public:
  RegionServer() {
    char pattern[] = "/tmp/opserve-paths-XXXXXX";
    folder_ = mkdtemp(pattern);
    auto listener = ListenForPackets(socket(), 0600);
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    thread_ = std::thread([this] { Serve(); });
  }
  ~RegionServer() {
    is_over_ = true;
    // The thread waits for a connection.
    { const auto last = ConnectForPackets(socket(), absl::Minutes(1)); }
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  std::string socket() const { return folder_ + "/regions"; }
  void set_refuses(bool refuses) { refuses_ = refuses; }
  int registrations() const { return registrations_; }

 private:
  // One connection after the other.
  void Serve() {
    while (!is_over_) ServeOne(UniqueFd(accept(listener_.get(), nullptr, nullptr)));
  }
  void ServeOne(const UniqueFd& peer) {
    while (true) {
      const auto packet = ReceivePacket(peer);
      v1::RegionRequest request;
      if (!packet.ok() || packet->bytes.empty()) return;
      EXPECT_TRUE(request.ParseFromString(packet->bytes));
      v1::RegionResponse response;
      response.set_region(request.unregister().region());
      if (request.has_register_()) response = Register();
      if (!SendPacket(peer, response.SerializeAsString()).ok()) return;
    }
  }
  v1::RegionResponse Register() {
    v1::RegionResponse response;
    const int number = ++registrations_;
    if (refuses_) {
      rpc::Status status;
      status.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
      response.set_error(status.SerializeAsString());
    } else {
      response.set_region(absl::StrCat("region ", number));
    }
    return response;
  }

  std::string folder_;
  UniqueFd listener_;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> refuses_ = false;
  std::atomic<int> registrations_ = 0;
  std::thread thread_;
};

class ExecutePathsTest : public ::testing::Test {
 protected:
  // What came of a call, and what was sent for it.
  struct Outcome {
    absl::Status status;
    PayloadPath path = PayloadPath::kMessage;
    int sends = 0;
    std::vector<v1::ExecuteRequest> requests = {};
    std::vector<int> asked = {};  // one element per question about the server
  };

  // A client of a server on this machine; `script` is what becomes of its messages.
  void Connect(std::deque<absl::Status> script, bool is_local = true) {
    // It would keep the connection of the client before.
    result_ = absl::UnknownError("");
    f_.emplace(std::move(script), is_local);
    f_->transport->methods["GetServerInfo"] = [this](const OutgoingMessage&) {
      asked_.push_back(1);
      v1::GetServerInfoResponse info;
      if (shares_) {
        info.mutable_shared_memory()->set_socket(socket_);
        info.mutable_shared_memory()->set_max_bytes(uint64_t{1} << 30);
      }
      return info.SerializeAsString();
    };
    f_->transport->methods["Execute"] = [](const OutgoingMessage& message) {
      return Answer(message).SerializeAsString();
    };
    f_->transport->on_attempt = [this](const std::string& method, const OutgoingMessage& message) {
      if (method != "/opserve.v1.OperatorService/Execute") return;
      EXPECT_TRUE(requests_.emplace_back().ParseFromString(message.header));
    };
  }

  // The input, as UINT8.
  static v1::ExecuteResponse Answer(const OutgoingMessage& message) {
    v1::ExecuteRequest request;
    EXPECT_TRUE(request.ParseFromString(message.header));
    v1::ExecuteResponse response;
    *response.mutable_output() = request.inputs(0);
    response.mutable_output()->clear_name();
    if (request.has_output_place()) return response;
    for (const auto payload : message.payloads) {
      response.set_payload(payload.data(), payload.size());
    }
    return response;
  }

  OperatorCall Large() const {
    return {.operator_name = "X", .inputs = {TensorView::Of<uint8_t>(bytes_, {kSize})}};
  }
  Outcome Execute(const OperatorCall& call) {
    requests_.clear();
    asked_.clear();
    ExecutionInfo info;
    result_ = f_->Execute(call, options_, &info);
    return {result_.status(), info.path, info.sends, requests_, asked_};
  }
  Outcome Execute() { return Execute(Large()); }
  // After it such calls go through shared memory.
  void Learn() {
    ASSERT_TRUE(Execute().status.ok());
    ASSERT_THAT(requests_, SizeIs(1));
  }

  static std::string RegionOf(const v1::ExecuteRequest& request) {
    return request.input_places_size() == 1 ? request.input_places(0).region().region() : "none";
  }

  static constexpr uint32_t kSize = Staging::kLeastBytes;
  const std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kSize, 7);
  CallOptions options_;
  bool shares_ = true;
  RegionServer regions_;
  // Where the server says that it registers regions.
  std::string socket_ = regions_.socket();
  std::vector<v1::ExecuteRequest> requests_;
  std::vector<int> asked_;
  absl::StatusOr<Tensor> result_ = absl::UnknownError("");
  std::optional<Fixture> f_;
};

TEST_F(ExecutePathsTest, TheFirstLargeCallOfAKindTravelsAndOthersAreShared) {
  Connect({});
  const Outcome first = Execute();
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.path, PayloadPath::kMessage);
  EXPECT_THAT(first.asked, SizeIs(1));
  const Outcome second = Execute();
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_EQ(second.path, PayloadPath::kSharedMemory);
  EXPECT_THAT(second.asked, IsEmpty());
  ASSERT_THAT(second.requests, SizeIs(1));
  const v1::ExecuteRequest& request = second.requests[0];
  EXPECT_EQ(RegionOf(request), "region 1");
  EXPECT_EQ(request.input_places(0).region().bytes(), kSize);
  EXPECT_EQ(request.output_place().region().region(), "region 2");
  EXPECT_EQ(request.output_place().region().bytes(), kSize);
  OperatorCall other = Large();
  other.operator_name = "Y";
  EXPECT_EQ(Execute(other).path, PayloadPath::kMessage) << "its result may be larger";
}

TEST_F(ExecutePathsTest, ACallThatSaysWhereItsResultGoesIsSharedAtOnce) {
  Connect({});
  std::vector<std::byte> target(kSize);
  ExecutionInfo info;
  ASSERT_TRUE(f_->ExecuteInto(Large(), target, {}, &info).ok());
  EXPECT_EQ(info.path, PayloadPath::kSharedMemory);
}

TEST_F(ExecutePathsTest, RoomThatIsRoundedUpIsRefusedAndTeachesNothing) {
  Connect({});
  const std::vector<uint8_t> bytes(kSize + 1, 7);
  const OperatorCall call = {.operator_name = "X",
                             .inputs = {TensorView::Of<uint8_t>(bytes, {kSize + 1})}};
  std::vector<std::byte> target(kSize + 4);
  EXPECT_EQ(f_->ExecuteInto(call, target, {}, nullptr).status(),
            absl::InvalidArgumentError(
                "the result, UINT8 {65537}, has 65537 bytes; there is room for 65540"));
  EXPECT_THAT(target, Each(std::byte{0}));
  for (const PayloadPath path : {PayloadPath::kMessage, PayloadPath::kSharedMemory}) {
    const Outcome outcome = Execute(call);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.path, path);
  }
}

// The server takes inputs through rings, of which these calls fill one several times.
class ExecuteRingTest : public ExecutePathsTest {
 protected:
  void ConnectToRings(std::deque<absl::Status> script) {
    Connect(std::move(script));
    f_->transport->methods["Execute"] = [this](const OutgoingMessage& message) {
      v1::ExecuteResponse response = Answer(message);
      response.set_takes_ring(takes_ring_);
      return response.SerializeAsString();
    };
    // The end of the ring that is the server's, at each attempt.
    const auto note = f_->transport->on_attempt;
    f_->transport->on_attempt = [this, note](const std::string& method,
                                             const OutgoingMessage& message) {
      note(method, message);
      if (message.feed != nullptr) Take(message);
    };
  }

  // Takes all that comes through the ring.
  void Take(const OutgoingMessage& message) {
    const v1::PayloadRing& ring = requests_.back().ring();
    ASSERT_EQ(message.places.size(), 2u);
    const std::span<std::byte> memory = std::get<RegionRange>(message.places[0]).bytes();
    ASSERT_EQ(memory.size(), ring.memory().bytes());
    auto& counters = *reinterpret_cast<RingCounters*>(memory.data());
    message.feed->Begin();
    taken_.clear();
    uint64_t runs = 0;
    auto progress = MessageFeed::Progress::kFed;
    while (progress != MessageFeed::Progress::kDone) {
      progress = message.feed->Feed();
      for (; runs < counters.filled.count(); ++runs) {
        const auto* const from = reinterpret_cast<const uint8_t*>(
            memory.data() + kRingCounterBytes + runs % ring.runs() * ring.run_elements());
        const uint64_t count =
            std::min<uint64_t>(ring.run_elements(), ring.payload_bytes(0) - taken_.size());
        taken_.insert(taken_.end(), from, from + count);
      }
      counters.emptied.Publish(static_cast<uint32_t>(runs));
    }
  }

  OperatorCall VeryLarge() const {
    const auto count = static_cast<uint32_t>(values_.size());
    return {.operator_name = "X", .inputs = {TensorView::Of<uint8_t>(values_, {count})}};
  }
  static bool HasRing(const v1::ExecuteRequest& request) { return request.has_ring(); }

  bool takes_ring_ = true;
  std::vector<uint8_t> taken_;
  std::vector<uint8_t> values_ = [] {
    std::vector<uint8_t> values(5'000'001);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 31 >> 3);
    return values;
  }();
};

TEST_F(ExecuteRingTest, LaterCallsOfAKindGoThroughARing) {
  ConnectToRings({});
  EXPECT_EQ(Execute(VeryLarge()).path, PayloadPath::kMessage);
  const Outcome second = Execute(VeryLarge());
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_EQ(second.path, PayloadPath::kSharedMemory);
  ASSERT_THAT(second.requests, SizeIs(1));
  const v1::ExecuteRequest& request = second.requests[0];
  ASSERT_TRUE(HasRing(request));
  EXPECT_THAT(request.input_places(), IsEmpty());
  EXPECT_THAT(request.ring().payload_bytes(), ElementsAre(values_.size()));
  EXPECT_EQ(request.ring().memory().region(), "region 1");
  EXPECT_LT(request.ring().memory().bytes(), uint64_t{5} << 20);
  EXPECT_EQ(request.output_place().region().region(), "region 2");
  EXPECT_EQ(taken_, values_);
  // Its memory is used again.
  EXPECT_TRUE(HasRing(Execute(VeryLarge()).requests[0]));
  EXPECT_EQ(requests_[0].ring().memory().region(), "region 1");
}

TEST_F(ExecuteRingTest, CallsThatGainNothingAreCopiedAsAWhole) {
  ConnectToRings({});
  values_.resize((uint64_t{1} << 20) - 1);
  Execute(VeryLarge());
  EXPECT_FALSE(HasRing(Execute(VeryLarge()).requests[0]));
  EXPECT_EQ(RegionOf(requests_[0]), "region 1");
}

TEST_F(ExecuteRingTest, OthersAreCopiedAsAWhole) {
  takes_ring_ = false;
  ConnectToRings({});
  Execute(VeryLarge());
  EXPECT_FALSE(HasRing(Execute(VeryLarge()).requests[0]));
}

TEST_F(ExecuteRingTest, CallsThatNobodyWaitsForAreCopiedBeforeTheyAreSent) {
  ConnectToRings({});
  Execute(VeryLarge());
  requests_.clear();
  absl::Status status = absl::UnknownError("not called");
  f_->ExecuteAsync(
      VeryLarge(),
      [&](const absl::StatusOr<Tensor>& result, const ExecutionInfo&) { status = result.status(); },
      {});
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_THAT(requests_, SizeIs(1));
  EXPECT_FALSE(HasRing(requests_[0]));
  EXPECT_EQ(RegionOf(requests_[0]), "region 1");
}

TEST_F(ExecuteRingTest, ResultsMayGoToMemoryOfTheCaller) {
  ConnectToRings({});
  std::vector<std::byte> target(values_.size());
  ASSERT_TRUE(f_->ExecuteInto(VeryLarge(), target, {}, nullptr).ok());
  EXPECT_FALSE(HasRing(requests_.back())) << "nobody knows the operator yet";
  ASSERT_TRUE(f_->ExecuteInto(VeryLarge(), target, {}, nullptr).ok());
  EXPECT_TRUE(HasRing(requests_.back()));
}

TEST_F(ExecuteRingTest, AServerThatWaitsNoLongerGetsAMessageAndNoRingForAWhile) {
  ConnectToRings({absl::OkStatus(), absl::OkStatus(), absl::AbortedError("slow")});
  Execute(VeryLarge());
  const Outcome outcome = Execute(VeryLarge());
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.path, PayloadPath::kMessage);
  ASSERT_THAT(outcome.requests, SizeIs(2));
  EXPECT_TRUE(HasRing(outcome.requests[0]));
  EXPECT_FALSE(HasRing(outcome.requests[1]));
  EXPECT_FALSE(HasRing(Execute(VeryLarge()).requests[0]));
  EXPECT_NE(RegionOf(requests_[0]), "none");
  f_->clock->Advance(Staging::kPause);
  EXPECT_TRUE(HasRing(Execute(VeryLarge()).requests[0]));
}

TEST_F(ExecuteRingTest, AServerThatHasForgottenRingsIsBelieved) {
  ConnectToRings(
      {absl::OkStatus(), absl::OkStatus(), absl::InvalidArgumentError("payloads are missing")});
  Execute(VeryLarge());
  takes_ring_ = false;
  const Outcome outcome = Execute(VeryLarge());
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.path, PayloadPath::kMessage);
  EXPECT_FALSE(HasRing(Execute(VeryLarge()).requests[0]));
}

TEST_F(ExecuteRingTest, ARefusedCallIsFedAnew) {
  ConnectToRings({absl::OkStatus(), absl::OkStatus(), Exhausted(absl::Seconds(1))});
  Execute(VeryLarge());
  const Outcome outcome = Execute(VeryLarge());
  EXPECT_EQ(outcome.path, PayloadPath::kSharedMemory);
  ASSERT_THAT(outcome.requests, SizeIs(2));
  EXPECT_TRUE(HasRing(outcome.requests[1]));
  EXPECT_EQ(taken_, values_);
}

TEST_F(ExecutePathsTest, SmallCallsTravel) {
  Connect({});
  const std::vector<uint8_t> bytes(kSize - 1, 7);
  const OperatorCall small = {.operator_name = "X",
                              .inputs = {TensorView::Of<uint8_t>(bytes, {kSize - 1})}};
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Execute(small);
    EXPECT_EQ(outcome.path, PayloadPath::kMessage);
    EXPECT_THAT(outcome.asked, IsEmpty());
  }
}

TEST_F(ExecutePathsTest, CallsToOtherMachinesTravel) {
  Connect({}, /*is_local=*/false);
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Execute();
    EXPECT_EQ(outcome.path, PayloadPath::kMessage);
    EXPECT_THAT(outcome.asked, IsEmpty());
  }
}

TEST_F(ExecutePathsTest, InputsThatAreNotWholeTravelForTheServerToSayWhatIsWrong) {
  Connect({});
  Learn();
  OperatorCall call = Large();
  call.inputs[0] =
      TensorView(TensorSpec{DataType::kUint8, {2 * kSize}}, std::as_bytes(std::span(bytes_)));
  EXPECT_EQ(Execute(call).path, PayloadPath::kMessage);
  EXPECT_EQ(RegionOf(requests_[0]), "none");
}

TEST_F(ExecutePathsTest, WhereNobodyKnowsWhetherItRanTheCallGoesOnInAMessage) {
  Connect({absl::OkStatus(), absl::OkStatus(), kGone});
  Learn();
  const Outcome outcome = Execute();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.path, PayloadPath::kMessage);
  EXPECT_EQ(outcome.sends, 2);
  ASSERT_THAT(outcome.requests, SizeIs(2));
  EXPECT_EQ(RegionOf(outcome.requests[0]), "region 1");
  EXPECT_EQ(RegionOf(outcome.requests[1]), "none");
  EXPECT_THAT(f_->clock->waits, IsEmpty());
  EXPECT_EQ((*result_->Elements<uint8_t>())[0], 7);
  EXPECT_EQ(Execute().path, PayloadPath::kSharedMemory);
  EXPECT_EQ(RegionOf(requests_[0]), "region 3") << "the server may still use the first two";
}

TEST_F(ExecutePathsTest, AMessageThatFollowsIsAnotherAttempt) {
  Connect({absl::OkStatus(), absl::OkStatus(), kGone, kGone, kGone});
  Learn();
  const Outcome outcome = Execute();
  EXPECT_EQ(outcome.status, kGone);
  EXPECT_EQ(outcome.sends, 3);
  EXPECT_THAT(outcome.requests, SizeIs(3));
}

TEST_F(ExecutePathsTest, WhereThereIsOneAttemptNoMessageFollowsThatMayBeTheSecond) {
  const absl::Status forgotten = absl::NotFoundError("no such region");
  Connect({absl::OkStatus(), absl::OkStatus(), kGone, absl::OkStatus(), forgotten});
  Learn();
  options_.retry = RetryPolicy{.max_attempts = 1};
  const Outcome lost = Execute();
  EXPECT_EQ(lost.status, kGone);
  EXPECT_EQ(lost.sends, 1);
  EXPECT_THAT(lost.requests, SizeIs(1));
  EXPECT_EQ(Execute().path, PayloadPath::kSharedMemory);
  const Outcome refused = Execute();
  EXPECT_TRUE(refused.status.ok()) << refused.status;
  EXPECT_EQ(refused.path, PayloadPath::kMessage);
  EXPECT_EQ(refused.sends, 2);
}

TEST_F(ExecutePathsTest, CallsThatAreGivenUpLeaveTheirMemoryAlone) {
  for (const absl::Status& end :
       {absl::DeadlineExceededError("late"), absl::CancelledError("cancelled")}) {
    Connect({absl::OkStatus(), absl::OkStatus(), end});
    Learn();
    const int before = regions_.registrations();
    const Outcome outcome = Execute();
    EXPECT_EQ(outcome.status, end);
    EXPECT_THAT(outcome.requests, SizeIs(1));
    EXPECT_EQ(regions_.registrations(), before + 2);
    if (!absl::IsCancelled(end)) continue;
    EXPECT_EQ(Execute().path, PayloadPath::kSharedMemory);
    EXPECT_EQ(regions_.registrations(), before + 4);
  }
}

TEST_F(ExecutePathsTest, ErrorsAreThoseOfMessages) {
  for (const absl::Status& error :
       {absl::InvalidArgumentError("of places"), absl::NotFoundError("region")}) {
    Connect({absl::OkStatus(), absl::OkStatus(), error, absl::InvalidArgumentError("of payloads")});
    Learn();
    EXPECT_EQ(Execute().status, absl::InvalidArgumentError("of payloads"));
    EXPECT_THAT(requests_, SizeIs(2));
  }
}

TEST_F(ExecutePathsTest, AServerThatIsFullIsAskedAgainInTheSameMemory) {
  Connect({absl::OkStatus(), absl::OkStatus(), Exhausted(absl::Seconds(1))});
  Learn();
  const Outcome outcome = Execute();
  EXPECT_EQ(outcome.path, PayloadPath::kSharedMemory);
  ASSERT_THAT(outcome.requests, SizeIs(2));
  EXPECT_EQ(RegionOf(outcome.requests[0]), RegionOf(outcome.requests[1]));
  EXPECT_THAT(f_->clock->waits, ElementsAre(absl::Seconds(1)));
}

TEST_F(ExecutePathsTest, AServerThatSharesNoMemoryIsAskedNowAndThen) {
  shares_ = false;
  Connect({});
  EXPECT_THAT(Execute().asked, SizeIs(1));
  EXPECT_THAT(Execute().asked, IsEmpty());
  f_->clock->Advance(Staging::kPause);
  shares_ = true;
  EXPECT_THAT(Execute().asked, SizeIs(1));
  EXPECT_EQ(Execute().path, PayloadPath::kSharedMemory);
}

TEST_F(ExecutePathsTest, AServerThatCannotSayIsNoServerThatSharesMemory) {
  Connect({absl::PermissionDeniedError("not you")});
  EXPECT_TRUE(Execute().status.ok());
  EXPECT_EQ(Execute().path, PayloadPath::kMessage);
}

TEST_F(ExecutePathsTest, AServerThatIsNotThereIsTriedAsOftenAsForAMessage) {
  Connect({kGone, kGone, kGone});
  EXPECT_EQ(Execute().status, kGone);
  EXPECT_THAT(requests_, IsEmpty()) << "the question failed as the call would have";
}

TEST_F(ExecutePathsTest, ARefusedRegionIsNotAskedForAgainAtOnce) {
  Connect({});
  Learn();
  regions_.set_refuses(true);
  EXPECT_EQ(Execute().path, PayloadPath::kMessage);
  EXPECT_EQ(Execute().path, PayloadPath::kMessage);
  EXPECT_EQ(regions_.registrations(), 1);
  regions_.set_refuses(false);
  f_->clock->Advance(Staging::kPause);
  EXPECT_EQ(Execute().path, PayloadPath::kSharedMemory);
}

TEST_F(ExecutePathsTest, AServerThatWentAwayIsAskedAnewByTheNextCall) {
  socket_ = regions_.socket() + " of before";
  Connect({});
  Learn();
  EXPECT_EQ(Execute().path, PayloadPath::kMessage);
  socket_ = regions_.socket();
  const Outcome outcome = Execute();
  EXPECT_THAT(outcome.asked, SizeIs(1));
  EXPECT_EQ(outcome.path, PayloadPath::kSharedMemory);
}

TEST_F(ExecutePathsTest, AServerWhoseSocketCannotBeReachedIsAskedNowAndThen) {
  socket_ = regions_.socket() + " of others";
  Connect({});
  Learn();
  EXPECT_EQ(Execute().path, PayloadPath::kMessage);
  EXPECT_THAT(Execute().asked, SizeIs(1));
  EXPECT_THAT(Execute().asked, IsEmpty());
  f_->clock->Advance(Staging::kPause);
  EXPECT_THAT(Execute().asked, SizeIs(1));
  EXPECT_THAT(Execute().asked, IsEmpty()) << "it was asked in vain before";
  f_->clock->Advance(Staging::kPause);
  socket_ = regions_.socket();
  EXPECT_EQ(Execute().path, PayloadPath::kSharedMemory);
}

TEST_F(ExecutePathsTest, AResultInSharedMemoryIsKept) {
  Connect({});
  Learn();
  Execute();
  const Tensor kept = *result_;
  Execute();
  EXPECT_EQ(requests_[0].input_places(0).region().region(), "region 1") << "the input's is free";
  EXPECT_EQ(requests_[0].output_place().region().region(), "region 3");
  EXPECT_EQ(kept.bytes().size(), kSize);
}

}  // namespace
}  // namespace opserve::client_internal
