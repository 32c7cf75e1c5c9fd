// Calls that name places: what is sent, what comes back, and when they may be sent again.

#include "client/wire/wire.h"
#include "client/wire/wire_sequences.h"
#include "client/wire/wire_tensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/api/scripted_client.h"
#include "tests/unit/client/rpc/statuses.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::client_internal {
namespace {

using testing::Exhausted;
using testing::Fixture;
using testing::GoodResponse;
using ::testing::IsEmpty;
using testing::kGone;
using ::testing::SizeIs;

// A region of 256 bytes.
class Region {
 public:
  explicit Region(std::string id) : id_(std::make_shared<const std::string>(std::move(id))) {}
  RegionRange At(uint64_t offset, uint64_t size) { return RegionRange(id_, memory_, offset, size); }
  bool is_shared() const { return id_.use_count() > 1; }

 private:
  std::shared_ptr<const std::string> id_;
  alignas(64) std::byte memory_[256] = {};
};

// What is sent for `call`, as the server sees it.
v1::ExecuteRequest Sent(const OperatorCall& call, const std::optional<TensorPlace>& output = {}) {
  PayloadHold hold;
  v1::ExecuteRequest request;
  EXPECT_TRUE(request.ParseFromString(testing::BytesOf(Compose(MakeRequest(call, output), hold))));
  return request;
}

TEST(RegionRangeTest, HasItsMemory) {
  Region region("r");
  const RegionRange range = region.At(64, 8);
  range.values<float>()[1] = 2.5f;
  EXPECT_EQ(range.bytes().size(), 8u);
  EXPECT_EQ(region.At(68, 4).values<float>()[0], 2.5f);
  EXPECT_THAT(region.At(66, 4).values<float>(), IsEmpty()) << "not aligned";
  EXPECT_THAT(region.At(66, 4).values<uint16_t>(), SizeIs(2));
}

TEST(RegionRangeTest, HasNoMemoryBeyondTheRegion) {
  Region region("r");
  EXPECT_THAT(region.At(256, 0).bytes(), IsEmpty());
  for (const RegionRange& range :
       {region.At(256, 1), region.At(253, 4), region.At(257, 0), region.At(4, UINT64_MAX)}) {
    EXPECT_THAT(range.bytes(), IsEmpty());
    EXPECT_THAT(range.values<float>(), IsEmpty());
  }
}

TEST(ClientPlacesTest, InputsMayBeAnywhere) {
  Region region("r");
  const std::vector<uint8_t> bytes = {1, 2};
  const OperatorCall call = {
      .operator_name = "OP",
      .inputs = {TensorView::At(TensorHandle{"t"}), TensorView::Of<uint8_t>(bytes, {2}),
                 TensorView::At(region.At(4, 8), {DataType::kFloat32, {2}}).set_name("B")}};
  const v1::ExecuteRequest request = Sent(call);
  ASSERT_EQ(request.inputs_size(), 3);
  EXPECT_EQ(request.inputs(0).ByteSizeLong(), 0u) << "the tensor's own";
  EXPECT_EQ(request.inputs(2).name(), "B");
  EXPECT_EQ(request.inputs(2).sizes(0), 2u);
  ASSERT_EQ(request.input_places_size(), 3);
  EXPECT_EQ(request.input_places(0).tensor(), "t");
  EXPECT_EQ(request.input_places(1).place_case(), v1::TensorPlace::PLACE_NOT_SET);
  EXPECT_EQ(request.input_places(2).region().region(), "r");
  EXPECT_EQ(request.input_places(2).region().offset(), 4u);
  EXPECT_EQ(request.input_places(2).region().bytes(), 8u);
  EXPECT_THAT(request.payloads(), ::testing::ElementsAre("\1\2"));
  EXPECT_FALSE(request.has_output_place());
  EXPECT_EQ(EncodeCall(call).SerializeAsString(), request.SerializeAsString());
}

TEST(ClientPlacesTest, ThereAreNoPlacesWhereNoneIsNeeded) {
  const std::vector<uint8_t> bytes = {1, 2};
  EXPECT_THAT(
      Sent({.operator_name = "OP", .inputs = {TensorView::Of<uint8_t>(bytes, {2})}}).input_places(),
      IsEmpty());
}

TEST(ClientPlacesTest, TheResultMayGoAnywhere) {
  EXPECT_EQ(Sent({}, TensorHandle{"t"}).output_place().tensor(), "t");
  EXPECT_EQ(Sent({}, Region("r").At(64, 4)).output_place().region().offset(), 64u);
}

TEST(ClientPlacesTest, AMessageKeepsItsRegions) {
  Region region("r");
  const OutgoingMessage message =
      MakeRequest({.operator_name = "OP", .inputs = {TensorView::At(region.At(0, 4))}});
  EXPECT_TRUE(region.is_shared());
}

TEST(ClientPlacesTest, AMessageKeepsTheRegionsOfItsResults) {
  Region of_call("r");
  const OutgoingMessage call = MakeRequest({}, of_call.At(0, 4));
  EXPECT_TRUE(of_call.is_shared());
  Region of_sequence("r");
  const OutgoingMessage sequence =
      MakeRequest(OperatorSequence{.outputs = {{.place = of_sequence.At(0, 4)}}});
  EXPECT_TRUE(of_sequence.is_shared());
}

// Sends a call whose result goes elsewhere.
absl::StatusOr<TensorSpec> ExecuteTo(Fixture& f, const TensorPlace& output, TensorView input,
                                     ExecutionInfo* info = nullptr) {
  v1::ExecuteResponse placed = GoodResponse();
  placed.clear_payload();
  f.transport->answer = placed.SerializeAsString();
  return f.ExecuteTo({.operator_name = "X", .inputs = {std::move(input)}}, output, {}, info);
}

TEST(ClientPlacesTest, ReturnsTheLayoutOfAPlacedResult) {
  Fixture f({});
  ExecutionInfo info;
  const auto spec = ExecuteTo(f, TensorHandle{"b"}, TensorView::At(TensorHandle{"a"}), &info);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, (TensorSpec{DataType::kUint8, {2}, {}}));
  EXPECT_EQ(info.device, "cpu");
  EXPECT_EQ(info.sends, 1);
}

TEST(ClientPlacesTest, APlacedResultThatIsInTheResponseIsDataLoss) {
  Fixture f({});
  f.transport->answer = GoodResponse().SerializeAsString();
  EXPECT_TRUE(absl::IsDataLoss(f.ExecuteTo({}, TensorHandle{"b"}, {}, nullptr).status()));
  v1::ExecuteResponse bare;
  bare.set_request_id("no output");
  f.transport->answer = bare.SerializeAsString();
  EXPECT_TRUE(absl::IsDataLoss(f.ExecuteTo({}, TensorHandle{"b"}, {}, nullptr).status()));
}

TEST(ClientPlacesTest, ACallThatChangesItsInputIsNotRepeatedBlindly) {
  Region region("r");
  const std::pair<TensorPlace, TensorPlace> in_place[] = {
      {TensorHandle{"a"}, TensorHandle{"a"}},
      {region.At(0, 64), region.At(0, 64)},
      {region.At(0, 64), region.At(63, 64)},
  };
  for (const auto& [output, input] : in_place) {
    Fixture f({kGone});
    ExecutionInfo info;
    EXPECT_EQ(ExecuteTo(f, output, TensorView::At(input), &info).status(), kGone);
    EXPECT_EQ(f.transport->timeouts.size(), 1u);
    EXPECT_EQ(info.sends, 1);
  }
}

TEST(ClientPlacesTest, ACallThatDidNotRunIsRepeated) {
  Fixture f({Exhausted(absl::Seconds(1)), Exhausted(absl::Seconds(1))});
  EXPECT_TRUE(ExecuteTo(f, TensorHandle{"a"}, TensorView::At(TensorHandle{"a"})).ok());
  EXPECT_EQ(f.transport->timeouts.size(), 3u);
}

TEST(ClientPlacesTest, OtherCallsAreRepeatedWhateverTheirPlaces) {
  Region region("r");
  const std::vector<uint8_t> bytes = {1, 2};
  const std::pair<TensorPlace, TensorView> apart[] = {
      {TensorHandle{"b"}, TensorView::At(TensorHandle{"a"})},
      {region.At(64, 64), TensorView::At(region.At(0, 64))},
      {region.At(0, 64), TensorView::At(Region("other").At(0, 64))},
      {region.At(0, 64), TensorView::At(TensorHandle{"r"})},
      {TensorHandle{"a"}, TensorView::Of<uint8_t>(bytes, {2})},
  };
  for (const auto& [output, input] : apart) {
    Fixture f({kGone});
    EXPECT_TRUE(ExecuteTo(f, output, input).ok());
    EXPECT_EQ(f.transport->timeouts.size(), 2u);
  }
}

TEST(ClientPlacesTest, AsynchronousCallsReadFromPlaces) {
  auto region = std::make_unique<Region>("r");
  const OperatorCall call = {.operator_name = "X", .inputs = {TensorView::At(region->At(0, 4))}};
  Fixture f({kGone});
  v1::ExecuteRequest sent;
  f.transport->methods["Execute"] = [&](const OutgoingMessage& request) {
    EXPECT_TRUE(sent.ParseFromString(request.header));
    return GoodResponse().SerializeAsString();
  };
  bool done = false;
  f.ExecuteAsync(
      call, [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) { done = output.ok(); },
      {});
  EXPECT_TRUE(done);
  EXPECT_EQ(sent.input_places(0).region().region(), "r");
}

}  // namespace
}  // namespace opserve::client_internal
