// Calls about resident tensors: what is sent in which pieces, and what the answers are taken for.

#include "client/api/resident.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"
#include "tests/unit/client/api/scripted_client.h"
#include "tests/unit/client/rpc/statuses.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::client_internal {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::Exhausted;
using testing::Fixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kGone;
using testing::WithReason;

const absl::Status kTooLarge = absl::ResourceExhaustedError("too large for a message");
const absl::Status kRequestTooLarge = WithReason(kTooLarge, "REQUEST_TOO_LARGE");
const absl::Status kResponseTooLarge = WithReason(kTooLarge, "RESPONSE_TOO_LARGE");

// As the generated code reads what was sent.
template <class Request>
Request Parsed(const OutgoingMessage& message) {
  PayloadHold hold;
  Request request;
  EXPECT_TRUE(request.ParseFromString(BytesOf(Compose(message, hold))));
  return request;
}

TensorView TensorOf(const std::string& bytes) {
  return TensorView::Of<uint8_t>({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                 {static_cast<uint32_t>(bytes.size())});
}

std::string Text(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
}

// A client of a server that keeps one tensor, whose messages hold `piece` bytes of it.
class ResidentTest : public ::testing::Test {
 protected:
  ResidentTest() { SetUpServer({}, 8); }

  void SetUpServer(std::deque<absl::Status> script, uint64_t piece) {
    fixture_ = std::make_unique<Fixture>(std::move(script));
    piece_ = piece;
    auto& methods = fixture_->transport->methods;
    methods["GetServerInfo"] = [this](const OutgoingMessage& message) {
      ++infos_;
      const auto named = pieces_of_hosts_.find(message.host);
      const uint64_t bytes = named == pieces_of_hosts_.end() ? piece_ : named->second;
      v1::GetServerInfoResponse info;
      info.mutable_limits()->set_max_message_bytes(1024 + bytes);
      info.mutable_limits()->set_max_queued_bytes(1 << 20);
      return info.SerializeAsString();
    };
    methods["CreateTensor"] = [this](const OutgoingMessage& message) {
      created_ = Parsed<v1::CreateTensorRequest>(message);
      v1::CreateTensorResponse response;
      response.set_tensor(id_);
      response.set_has_content(created_.sha256().empty() || knows_);
      response.set_ttl_s(60);
      response.set_device(created_.device());
      return response.SerializeAsString();
    };
    methods["WriteTensor"] = [this](const OutgoingMessage& message) {
      const auto request = Parsed<v1::WriteTensorRequest>(message);
      writes_.push_back(absl::StrCat(request.tensor(), request.offset(), request.payload()));
      return std::string();
    };
    methods["ReadTensor"] = [this](const OutgoingMessage& message) {
      const auto request = Parsed<v1::ReadTensorRequest>(message);
      reads_.emplace_back(request.offset(), request.bytes());
      v1::ReadTensorResponse response;
      response.mutable_desc()->set_data_type(v1::DATA_TYPE_UINT8);
      response.mutable_desc()->add_sizes(static_cast<uint32_t>(content_.size()));
      response.set_payload(content_.substr(
          request.offset(), request.bytes() == 0 ? std::string::npos : request.bytes()));
      return response.SerializeAsString();
    };
  }

  ClientImpl& client() { return *fixture_->impl; }
  template <class T>
  CallResult<T> Run(Operation<T> operation) {
    return client().Run(std::move(operation));
  }
  absl::StatusOr<TensorLease> Create(const std::string& bytes,
                                     const ResidentOptions& resident = {}) {
    return Run(CreateTensor(client(), TensorOf(bytes), resident, {}));
  }

  std::unique_ptr<Fixture> fixture_;
  uint64_t piece_ = 0;
  std::map<std::string, uint64_t> pieces_of_hosts_;  // where they differ from piece_
  std::string id_ = "t";                             // of tensors that are created
  int infos_ = 0;
  bool knows_ = false;  // whether the server has the content of every hash
  std::string content_ = "0123456789";
  v1::CreateTensorRequest created_;
  std::vector<std::string> writes_;
  std::vector<std::pair<uint64_t, uint64_t>> reads_;
};

TEST_F(ResidentTest, ContentTravelsWithTheCreationWhereItFits) {
  const auto lease = Create("12345678", {.ttl = absl::Milliseconds(1500), .label = "weights"});
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->handle, TensorHandle{"t"});
  EXPECT_EQ(lease->ttl, absl::Seconds(60));
  EXPECT_FALSE(lease->was_known);
  EXPECT_EQ(created_.payload(), "12345678");
  EXPECT_EQ(created_.desc().data_type(), v1::DATA_TYPE_UINT8);
  EXPECT_EQ(created_.ttl_s(), 2u) << "rounded up";
  EXPECT_EQ(created_.label(), "weights");
  EXPECT_THAT(created_.sha256(), IsEmpty());
  EXPECT_THAT(writes_, IsEmpty());
}

TEST_F(ResidentTest, ThePlacementIsAskedForAndTold) {
  const auto lease = Create("1", {.placement = DevicePreference::kGpu, .device = "d3d12/X"});
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(created_.placement(), v1::DEVICE_PREFERENCE_GPU);
  EXPECT_EQ(created_.device(), "d3d12/X");
  EXPECT_EQ(lease->device, "d3d12/X");
  EXPECT_EQ(Create("1")->device, "");
  EXPECT_EQ(created_.placement(), v1::DEVICE_PREFERENCE_UNSPECIFIED);
}

TEST_F(ResidentTest, LargerContentFollowsInPieces) {
  const auto lease = Create("12345678abcdefghX");
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_FALSE(created_.has_payload());
  EXPECT_THAT(writes_, ElementsAre("t012345678", "t8abcdefgh", "t16X"));
}

TEST_F(ResidentTest, PiecesFollowOneAnotherAlsoWithoutAThreadThatWaits) {
  const Call<TensorLease> created =
      client().Start(CreateTensor(client(), TensorOf("12345678abcdefghX"), {}, {}));
  EXPECT_EQ(created.Wait()->handle, TensorHandle{"t"});
  EXPECT_THAT(writes_, ElementsAre("t012345678", "t8abcdefgh", "t16X"));
}

TEST_F(ResidentTest, NoPieceFollowsOnceTheCallIsCancelled) {
  const std::string content = "12345678abcdefghX";
  fixture_->transport->answers_late = true;
  const Call<void> write =
      client().Start(WriteTensor(client(), {"t"}, 0, TensorOf(content).bytes(), {}));
  fixture_->transport->AnswerLate();  // what the server's limit is
  fixture_->transport->AnswerLate();  // to the first piece
  write.Cancel();
  EXPECT_TRUE(absl::IsCancelled(write.Wait()));
  EXPECT_THAT(writes_, ElementsAre("t012345678", "t8abcdefgh"));
}

TEST_F(ResidentTest, TheServerIsAskedForItsLimitOnce) {
  EXPECT_TRUE(Create("1").ok());
  EXPECT_TRUE(Run(WriteTensor(client(), {"t"}, 0, TensorOf("2").bytes(), {})).ok());
  EXPECT_EQ(infos_, 1);
}

TEST_F(ResidentTest, EachHostIsAskedForItsLimit) {
  pieces_of_hosts_ = {{"large:1", 8}, {"small:1", 4}};
  const TensorHandle large = {"a@large:1"};
  const TensorHandle small = {"b@small:1"};
  for (const TensorHandle& tensor : {large, small, large}) {
    EXPECT_TRUE(Run(WriteTensor(client(), tensor, 0, TensorOf("12345678").bytes(), {})).ok());
  }
  EXPECT_THAT(writes_, ElementsAre("a@large:1012345678", "b@small:101234", "b@small:145678",
                                   "a@large:1012345678"));
  EXPECT_EQ(infos_, 2);
}

TEST_F(ResidentTest, ContentFollowsInPiecesThatTheHostOfTheTensorTakes) {
  id_ = "t@small:1";
  pieces_of_hosts_ = {{"small:1", 4}};
  EXPECT_TRUE(Create("12345678X").ok());
  EXPECT_THAT(writes_, ElementsAre("t@small:101234", "t@small:145678", "t@small:18X"));
}

TEST_F(ResidentTest, ATensorIsGivenUpWhoseHostDoesNotTellItsLimit) {
  SetUpServer({absl::OkStatus(), absl::OkStatus(), kGone, kGone, kGone}, 8);
  id_ = "t@small:1";
  bool is_deleted = false;
  fixture_->transport->methods["DeleteTensors"] = [&](const OutgoingMessage&) {
    is_deleted = true;
    return std::string();
  };
  EXPECT_EQ(Create("12345678X").status(), kGone);
  EXPECT_TRUE(is_deleted);
}

TEST_F(ResidentTest, SmallerPiecesAreWrittenOnceTheServerRefusesThoseOfBefore) {
  SetUpServer({absl::OkStatus(), absl::OkStatus(), absl::OkStatus(), kRequestTooLarge}, 8);
  const auto write = [this](const std::string& bytes) {
    return Run(WriteTensor(client(), {"t"}, 0, TensorOf(bytes).bytes(), {}));
  };
  EXPECT_TRUE(write("12345678").ok());
  piece_ = 4;
  EXPECT_TRUE(write("ABCDEFGHIJKLMN").ok());
  EXPECT_THAT(writes_, ElementsAre("t012345678", "t0ABCDEFGH", "t8IJKL", "t12MN"));
  EXPECT_TRUE(write("abcdef").ok());
  EXPECT_EQ(infos_, 2);
  EXPECT_EQ(writes_.back(), "t4ef");
}

TEST_F(ResidentTest, SmallerPiecesAreReadOnceTheServerRefusesThoseOfBefore) {
  SetUpServer({absl::OkStatus(), absl::OkStatus(), kResponseTooLarge}, 8);
  std::byte target[10];
  EXPECT_TRUE(Run(ReadTensorInto(client(), {"t"}, 0, std::span(target).first(8), {})).ok());
  piece_ = 4;
  EXPECT_TRUE(Run(ReadTensorInto(client(), {"t"}, 0, target, {})).ok());
  EXPECT_EQ(std::string(reinterpret_cast<char*>(target), 10), content_);
  EXPECT_THAT(reads_,
              ElementsAre(std::pair(0, 8), std::pair(0, 4), std::pair(4, 4), std::pair(8, 2)));
  EXPECT_EQ(infos_, 2);
}

TEST_F(ResidentTest, ContentFollowsInPiecesOnceTheServerRefusesItInOneMessage) {
  SetUpServer({absl::OkStatus(), absl::OkStatus(), kRequestTooLarge}, 8);
  EXPECT_TRUE(Create("1").ok());
  piece_ = 4;
  const auto lease = Create("12345678");
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_FALSE(lease->was_known);
  EXPECT_FALSE(created_.has_payload());
  EXPECT_THAT(writes_, ElementsAre("t01234", "t45678"));
  EXPECT_EQ(infos_, 2);
}

TEST_F(ResidentTest, ARefusalIsFinalWhereTheServerTakesNoSmallerPieces) {
  SetUpServer({absl::OkStatus(), kRequestTooLarge}, 8);
  const auto bytes = TensorOf("12345678X").bytes();
  EXPECT_EQ(Run(WriteTensor(client(), {"t"}, 0, bytes, {})), kRequestTooLarge);
  EXPECT_THAT(writes_, IsEmpty());
  EXPECT_EQ(infos_, 2);
}

TEST_F(ResidentTest, ACallAsksAnewOnce) {
  SetUpServer({absl::OkStatus(), kRequestTooLarge, absl::OkStatus(), kRequestTooLarge}, 8);
  fixture_->transport->on_attempt = [this](const std::string& method, const OutgoingMessage&) {
    if (method.ends_with("WriteTensor")) --piece_;
  };
  const auto bytes = TensorOf("12345678X").bytes();
  EXPECT_EQ(Run(WriteTensor(client(), {"t"}, 0, bytes, {})), kRequestTooLarge);
  EXPECT_EQ(infos_, 2);
}

TEST_F(ResidentTest, ZerosDoNotTravel) {
  const auto lease = Run(CreateTensor(client(), TensorSpec{DataType::kInt16, {3}}, {}, {}));
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_FALSE(lease->was_known);
  EXPECT_FALSE(created_.has_payload());
  EXPECT_EQ(created_.desc().sizes(0), 3u);
}

TEST_F(ResidentTest, AnEndlessLeaseIsTheLongest) {
  EXPECT_TRUE(Create("1", {.ttl = absl::InfiniteDuration()}).ok());
  EXPECT_EQ(created_.ttl_s(), UINT32_MAX);
}

TEST_F(ResidentTest, KnownContentDoesNotTravel) {
  knows_ = true;
  const auto lease = Create("abc", {.skip_if_known = true});
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(lease->was_known);
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(absl::BytesToHexString(created_.sha256()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(created_.has_payload());
  EXPECT_THAT(writes_, IsEmpty());
}

TEST_F(ResidentTest, ContentThatIsNotKnownFollowsItsHash) {
  const auto lease = Create("12345678X", {.skip_if_known = true});
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_FALSE(lease->was_known);
  EXPECT_FALSE(created_.has_payload());
  EXPECT_THAT(writes_, ElementsAre("t012345678", "t8X"));
}

TEST_F(ResidentTest, ContentMustFitItsDescription) {
  const TensorView views[] = {TensorView({DataType::kUint8, {2}}, TensorOf("abc").bytes()),
                              TensorView::At(TensorHandle{"t"}, {DataType::kUint8, {2}})};
  for (const TensorView& view : views) {
    const absl::Status status = Run(CreateTensor(client(), view, {}, {})).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("UINT8 {2} needs 2 bytes, not "));
  }
  EXPECT_THAT(fixture_->transport->timeouts, IsEmpty());
}

TEST_F(ResidentTest, ATensorThatCannotBeFilledIsGivenUp) {
  const absl::Status lost = absl::NotFoundError("lost");
  SetUpServer({absl::OkStatus(), absl::OkStatus(), absl::OkStatus(), lost}, 8);
  std::vector<std::string> deleted;
  fixture_->transport->methods["DeleteTensors"] = [&](const OutgoingMessage& message) {
    const auto request = Parsed<v1::DeleteTensorsRequest>(message);
    deleted.assign(request.tensors().begin(), request.tensors().end());
    return std::string();
  };
  EXPECT_EQ(Create("12345678abcdefghX").status(), lost);
  EXPECT_THAT(writes_, ElementsAre("t012345678"));
  EXPECT_THAT(deleted, ElementsAre("t"));
}

TEST_F(ResidentTest, EachPieceHasItsAttemptsAndAllHaveOneDeadline) {
  SetUpServer({absl::OkStatus(), kGone, kGone, absl::OkStatus(), kGone, kGone}, 8);
  fixture_->transport->time_per_attempt = absl::Seconds(1);
  EXPECT_TRUE(Run(WriteTensor(client(), {"t"}, 0, TensorOf("12345678abcd").bytes(), {})).ok());
  EXPECT_THAT(writes_, ElementsAre("t012345678", "t8abcd"));
  EXPECT_EQ(fixture_->transport->timeouts.size(), 7u);
  EXPECT_EQ(fixture_->transport->timeouts.back(), absl::Seconds(10 - 6) - absl::Milliseconds(600));
}

TEST_F(ResidentTest, ReadsInOneMessageWhereThatHoldsIt) {
  const auto tensor = Run(ReadTensor(client(), {"t"}, {}));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(Text(*tensor), content_);
  EXPECT_THAT(reads_, ElementsAre(std::pair(0, 0)));
  EXPECT_EQ(infos_, 0);
}

TEST_F(ResidentTest, ReadsInPiecesWhatIsTooLargeForAMessage) {
  SetUpServer({kTooLarge}, 4);
  const auto tensor = Run(ReadTensor(client(), {"t"}, {}));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->spec(), (TensorSpec{DataType::kUint8, {10}, {}}));
  EXPECT_EQ(Text(*tensor), content_);
  EXPECT_THAT(reads_,
              ElementsAre(std::pair(0, 1), std::pair(0, 4), std::pair(4, 4), std::pair(8, 2)));
}

TEST_F(ResidentTest, ABusyServerIsNotTakenForASmallMessage) {
  const absl::Status busy = Exhausted(absl::Seconds(1));
  SetUpServer({busy, busy, busy}, 4);
  EXPECT_EQ(Run(ReadTensor(client(), {"t"}, {})).status(), busy);
  EXPECT_THAT(reads_, IsEmpty());
}

TEST_F(ResidentTest, ReadsRangesIntoTheCallersMemory) {
  SetUpServer({}, 4);
  std::byte target[6];
  EXPECT_TRUE(Run(ReadTensorInto(client(), {"t"}, 3, target, {})).ok());
  EXPECT_EQ(std::string(reinterpret_cast<char*>(target), 6), "345678");
  EXPECT_THAT(reads_, ElementsAre(std::pair(3, 4), std::pair(7, 2)));
}

TEST_F(ResidentTest, NothingIsReadOfTensorsThatThereAre) {
  SetUpServer({absl::OkStatus(), absl::OkStatus(), absl::NotFoundError("no tensor")}, 4);
  EXPECT_TRUE(Run(ReadTensorInto(client(), {"t"}, 0, {}, {})).ok());
  EXPECT_TRUE(Run(ReadTensorInto(client(), {"t"}, 10, {}, {})).ok());
  EXPECT_THAT(reads_, ElementsAre(std::pair(0, 1), std::pair(9, 1))) << "0 bytes would be all";
  EXPECT_TRUE(absl::IsNotFound(Run(ReadTensorInto(client(), {"t"}, 0, {}, {}))));
}

TEST_F(ResidentTest, OtherBytesThanThoseAskedForAreDataLoss) {
  std::byte target[11];
  EXPECT_TRUE(absl::IsDataLoss(Run(ReadTensorInto(client(), {"t"}, 5, target, {}))));
  fixture_->transport->answer = "";
  EXPECT_TRUE(absl::IsDataLoss(Run(ReadTensorInto(client(), {"t"}, 0, target, {}))));
  EXPECT_TRUE(absl::IsDataLoss(Run(ReadTensor(client(), {"t"}, {})).status()));
}

TEST_F(ResidentTest, ListsRenewsAndDeletes) {
  auto& methods = fixture_->transport->methods;
  methods["ListTensors"] = [](const OutgoingMessage&) {
    v1::ListTensorsResponse response;
    v1::ResidentTensorInfo& tensor = *response.add_tensors();
    tensor.set_tensor("t");
    tensor.mutable_desc()->set_data_type(v1::DATA_TYPE_INT8);
    tensor.mutable_desc()->add_sizes(5);
    tensor.set_bytes(5);
    tensor.set_label("five");
    tensor.set_ttl_s(7);
    tensor.set_device("d3d12/X");
    response.set_bytes(5);
    response.set_max_bytes(100);
    return response.SerializeAsString();
  };
  const auto list = client().Run(ListTensors(client(), {}));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->tensors.size(), 1u);
  EXPECT_EQ(list->tensors[0].handle, TensorHandle{"t"});
  EXPECT_EQ(list->tensors[0].spec, (TensorSpec{DataType::kInt8, {5}, {}}));
  EXPECT_EQ(list->tensors[0].bytes, 5u);
  EXPECT_EQ(list->tensors[0].label, "five");
  EXPECT_EQ(list->tensors[0].ttl, absl::Seconds(7));
  EXPECT_EQ(list->tensors[0].device, "d3d12/X");
  EXPECT_EQ(list->bytes, 5u);
  EXPECT_EQ(list->max_bytes, 100u);

  methods["RenewTensors"] = [](const OutgoingMessage& message) {
    const auto request = Parsed<v1::RenewTensorsRequest>(message);
    EXPECT_THAT(request.tensors(), ElementsAre("a", "b"));
    v1::RenewTensorsResponse response;
    response.set_ttl_s(request.ttl_s() - 1);
    return response.SerializeAsString();
  };
  EXPECT_EQ(*Run(RenewTensors(client(), {{"a"}, {"b"}}, absl::Seconds(9), {})), absl::Seconds(8));

  methods["DeleteTensors"] = [](const OutgoingMessage& message) {
    v1::DeleteTensorsResponse response;
    response.set_deleted(Parsed<v1::DeleteTensorsRequest>(message).tensors_size());
    return response.SerializeAsString();
  };
  EXPECT_EQ(*Run(DeleteTensors(client(), {{"a"}, {"b"}}, {})), 2u);
}

}  // namespace
}  // namespace opserve::client_internal
