// Resident tensors through the client library, and calls that work on them.

#include <algorithm>
#include <cmath>
#include <future>
#include <thread>

#include "gmock/gmock.h"
#include "opserve/owned_tensor.h"
#include "server/resident/tensor_quota.h"
#include "tests/integration/client_fixture.h"
#include "tests/integration/scripted_gpu_fixture.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClientResidentTest : public ClientFixture {
 protected:
  // The server reads the clock until it has stopped.
  void TearDown() override { server_.reset(); }

  std::vector<std::string> FieldsOf(const absl::Status& status) {
    std::vector<std::string> fields;
    for (const FieldViolation& violation : GetViolations(status)) fields.push_back(violation.field);
    return fields;
  }

  SimulatedClock clock_{SteadyClock().Now()};
};

TEST_F(ClientResidentTest, KeepsWhatIsWritten) {
  Start();
  const auto lease =
      client_->CreateTensor(ViewOf({1, 2, 3}), {.ttl = absl::Seconds(100), .label = "weights"});
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->ttl, absl::Seconds(100));
  EXPECT_FALSE(lease->was_known);
  const Floats seven = {7};
  EXPECT_TRUE(client_->WriteTensor(lease->handle, 4, std::as_bytes(std::span(seven))).ok());
  const auto read = client_->ReadTensor(lease->handle);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->spec(), FloatsSpec(3));
  EXPECT_THAT(*read->Elements<float>(), ElementsAre(1, 7, 3));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->bytes().data()) % 64, 0u);
  Floats part(2);
  EXPECT_TRUE(
      client_->ReadTensorInto(lease->handle, 4, std::as_writable_bytes(std::span(part))).ok());
  EXPECT_THAT(part, ElementsAre(7, 3));

  const auto list = client_->ListTensors();
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_THAT(list->tensors, SizeIs(1));
  EXPECT_EQ(list->tensors[0].handle, lease->handle);
  EXPECT_EQ(list->tensors[0].spec, FloatsSpec(3));
  EXPECT_EQ(list->tensors[0].label, "weights");
  EXPECT_EQ(list->bytes, TensorCharge(12));
  EXPECT_EQ(list->max_bytes, client_->GetServerInfo()->limits.max_resident_bytes_per_client);
}

TEST_F(ClientResidentTest, TensorsMayBeLargerThanMessages) {
  options_.max_message_bytes = 64 << 10;
  Start();
  Floats values(100'003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.25f;
  const TensorHandle tensor = Create(values);
  EXPECT_TRUE(ValuesOf(tensor) == values);
  EXPECT_TRUE(client_->ExecuteTo(Round(TensorView::At(tensor)), tensor).ok());
  for (float& value : values) value = std::nearbyint(value);
  EXPECT_TRUE(ValuesOf(tensor) == values);
  std::reverse(values.begin(), values.end());
  EXPECT_TRUE(client_->WriteTensor(tensor, 0, std::as_bytes(std::span(values))).ok());
  Floats target(values.size());
  EXPECT_TRUE(client_->ReadTensorInto(tensor, 0, std::as_writable_bytes(std::span(target))).ok());
  EXPECT_TRUE(target == values);
}

TEST_F(ClientResidentTest, AClientMayTakeSmallerMessagesThanTheServer) {
  Start();
  const auto small = Connect({.client_name = "me", .max_message_bytes = 4096});
  const Floats values(5000, 2.5f);
  const auto lease = small->CreateTensor(ViewOf(values));
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto read = small->ReadTensor(lease->handle);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::ranges::equal(*read->Elements<float>(), values));
}

TEST_F(ClientResidentTest, KnownContentIsNotSentAgain) {
  options_.max_message_bytes = 64 << 10;
  Start();
  const Floats values(50'000, 2.5f);
  const ResidentOptions named = {.skip_if_known = true};
  const auto first = client_->CreateTensor(ViewOf(values), named);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->was_known);
  const auto second = client_->CreateTensor(ViewOf(values), named);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->was_known);
  EXPECT_NE(second->handle, first->handle);
  EXPECT_TRUE(ValuesOf(second->handle) == values);
  const auto other = Connect({.client_name = "other"})->CreateTensor(ViewOf(values), named);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->was_known) << "nobody finds out what others have";
}

TEST_F(ClientResidentTest, AChainOfOperatorsNeverMovesItsTensors) {
  // No message could hold one.
  options_.max_message_bytes = 16 << 10;
  Start();
  constexpr size_t kCount = 20'000;
  const auto a = client_->CreateTensor(FloatsSpec(kCount));
  const auto b = client_->CreateTensor(FloatsSpec(kCount));
  ASSERT_TRUE(a.ok() && b.ok());
  const Floats last = {6.5f, -2.5f};
  ASSERT_TRUE(
      client_->WriteTensor(a->handle, 4 * (kCount - 2), std::as_bytes(std::span(last))).ok());
  const Floats four(1, 4);
  const OperatorCall modulus = {
      .operator_name = "ELEMENT_WISE_MODULUS_TRUNCATE",
      .inputs = {TensorView::At(b->handle), TensorView::Of<float>(four, {kCount}, {0})}};
  ExecutionInfo info;
  const auto spec = client_->ExecuteTo(Round(TensorView::At(a->handle)), b->handle, {}, &info);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, FloatsSpec(kCount));
  EXPECT_THAT(info.device, HasSubstr("cpu"));
  const auto in_place = client_->ExecuteTo(modulus, b->handle);
  ASSERT_TRUE(in_place.ok()) << in_place.status();
  Floats result(2);
  ASSERT_TRUE(
      client_
          ->ReadTensorInto(b->handle, 4 * (kCount - 2), std::as_writable_bytes(std::span(result)))
          .ok());
  EXPECT_THAT(result, ElementsAre(2, -2));
}

TEST_F(ClientResidentTest, InputsOfAsynchronousCallsMayBeResident) {
  Start();
  const TensorHandle tensor = Create({0.5f, 1.5f, 2.5f});
  const std::vector<uint8_t> condition = {1, 0, 1};
  const Floats values = {7, 8, 9};
  auto selected = client_->ExecuteFuture({.operator_name = "ELEMENT_WISE_IF",
                                          .inputs = {TensorView::Of<uint8_t>(condition, {3}),
                                                     TensorView::At(tensor), ViewOf(values)}});
  const auto output = selected.get();
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_THAT(*output->Elements<float>(), ElementsAre(0.5f, 8, 2.5f));
}

TEST_F(ClientResidentTest, AResultMustFitItsTensor) {
  Start();
  const TensorHandle three = Create({1, 2, 3});
  const TensorHandle two = Create({1, 2});
  const absl::Status status = client_->ExecuteTo(Round(TensorView::At(three)), two).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(FieldsOf(status), ElementsAre("output_place.tensor"));
  EXPECT_EQ(ValuesOf(two), (Floats{1, 2}));
  EXPECT_THAT(
      FieldsOf(client_->ExecuteTo(Round(TensorView::At(three, FloatsSpec(2))), two).status()),
      ElementsAre("input_places[0].tensor"));
}

TEST_F(ClientResidentTest, QuotasAreKept) {
  options_.tensors.max_bytes_per_client = TensorCharge(8);
  Start();
  const TensorHandle tensor = Create({1, 2});
  const CallOptions once = {.retry = RetryPolicy{.max_attempts = 1}};
  const absl::Status status = client_->CreateTensor(ViewOf({3}), {}, once).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(GetErrorReason(status), "TENSOR_QUOTA");
  EXPECT_TRUE(GetRetryDelay(status).has_value());
  EXPECT_EQ(*client_->DeleteTensors({tensor, TensorHandle{"none"}}), 1u);
  EXPECT_TRUE(client_->CreateTensor(ViewOf({3}), {}, once).ok());
}

TEST_F(ClientResidentTest, LeasesEndAndAreRenewed) {
  options_.tensors.default_ttl = std::chrono::seconds(10);
  options_.tensors.max_ttl = std::chrono::seconds(30);
  Start({.clock = &clock_});
  EXPECT_EQ(client_->GetServerInfo()->limits.max_lease, absl::Seconds(30));
  const TensorHandle kept = Create({1});
  const TensorHandle lost = Create({2});
  clock_.Advance(std::chrono::seconds(9));
  const auto granted = client_->RenewTensors({kept}, absl::Hours(1));
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(*granted, absl::Seconds(30));
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(ValuesOf(kept), Floats{1});
  EXPECT_EQ(GetErrorReason(client_->ReadTensor(lost).status()), "TENSOR_NOT_FOUND");
  EXPECT_EQ(GetErrorReason(client_->RenewTensors({lost}).status()), "TENSOR_NOT_FOUND");
}

TEST_F(ClientResidentTest, AnOwnedTensorIsGivenUpUnlessItIsReleased) {
  Start();
  TensorHandle released;
  {
    auto first = OwnedTensor::Create(*client_, ViewOf({1, 2}));
    auto second = OwnedTensor::Create(*client_, FloatsSpec(3));
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(ValuesOf(second->handle()), Floats({0, 0, 0}));
    const auto rounded = client_->Execute(Round(first->view()));
    EXPECT_THAT(*rounded->Elements<float>(), ElementsAre(1, 2));
    OwnedTensor moved = *std::move(first);
    EXPECT_EQ(client_->ListTensors()->tensors.size(), 2u);
    released = moved.Release().handle;
  }
  // Nobody waits for the end of the other one.
  while (client_->ListTensors()->tensors.size() > 1) std::this_thread::yield();
  EXPECT_EQ(ValuesOf(released), Floats({1, 2}));
}

TEST_F(ClientResidentTest, TheLeaseOfAnOwnedTensorIsRenewed) {
  Start({.clock = &clock_});
  const auto tensor = OwnedTensor::Create(*client_, ViewOf({1}), {.ttl = absl::Seconds(2)},
                                          LeaseRenewal::kBackground);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  clock_.Advance(std::chrono::seconds(1));
  while (client_->ListTensors()->tensors.at(0).ttl < absl::Seconds(2)) std::this_thread::yield();
}

TEST_F(ClientResidentTest, PiecesOfStartedCallsArriveWhole) {
  options_.max_message_bytes = 1 << 20;
  Start();
  Floats values(1 << 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const auto lease = client_->StartCreateTensor(ViewOf(values)).Wait();
  ASSERT_TRUE(lease.ok()) << lease.status();
  std::ranges::reverse(values);
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_TRUE(client_->StartWriteTensor(lease->handle, 0, bytes).Wait().ok());
  const auto read = client_->StartReadTensor(lease->handle).Wait();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::ranges::equal(*read->Elements<float>(), values));
  Floats part(300'000);
  const auto target = std::as_writable_bytes(std::span(part));
  EXPECT_TRUE(client_->StartReadTensorInto(lease->handle, 4, target).Wait().ok());
  EXPECT_EQ(part.front(), values[1]);
  EXPECT_TRUE(client_->StartRenewTensors({lease->handle}).Wait().ok());
  EXPECT_EQ(*client_->StartDeleteTensors({lease->handle}).Wait(), 1u);
}

TEST_F(ClientResidentTest, OthersHaveNoAccess) {
  Start();
  const TensorHandle tensor = Create({1});
  const auto other = Connect({.client_name = "other"});
  EXPECT_TRUE(Connect({.client_name = "me"})->ReadTensor(tensor).ok()) << "the same name";
  const absl::Status status = other->ReadTensor(tensor).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(tensor.id));
  EXPECT_EQ(GetErrorReason(other->ExecuteTo(Round(ViewOf({1})), tensor).status()),
            "TENSOR_NOT_FOUND");
  EXPECT_EQ(*other->DeleteTensors({tensor}), 0u);
}

TEST_F(ClientResidentTest, TensorsEndWithTheServer) {
  Start();
  const TensorHandle tensor = Create({1});
  server_.reset();
  StartServer();
  const CallOptions patient = {.retry = RetryPolicy{.max_attempts = 100}};
  EXPECT_EQ(GetErrorReason(client_->ReadTensor(tensor, patient).status()), "TENSOR_NOT_FOUND");
}

TEST_F(ClientResidentTest, AServerThatIsStartedAnewMayTakeSmallerMessages) {
  Start();
  const Floats values(50'000, 2.5f);
  Create(values);
  server_.reset();
  options_.max_message_bytes = 16 << 10;
  StartServer();
  const CallOptions patient = {.retry = RetryPolicy{.max_attempts = 100}};
  const auto lease = client_->CreateTensor(ViewOf(values), {}, patient);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(ValuesOf(lease->handle) == values);
}

// With a GPU that keeps results, and overwrites with garbage what it does not hand over.
class ClientPlacedTest : public ScriptedGpuFixture {};

TEST_F(ClientPlacedTest, ChainsOnAGpuAreReadAtTheirEnd) {
  StartWithGpu();
  const auto create = [this](float value) {
    const auto lease = client_->CreateTensor(ViewOf(Floats(5000, value)), {.device = "null/0"});
    EXPECT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(lease->device, "null/0");
    return lease->handle;
  };
  const TensorHandle sum = create(0);
  const TensorHandle one = create(1);
  const OperatorCall add = {.operator_name = "ELEMENT_WISE_ADD",
                            .inputs = {TensorView::At(sum), TensorView::At(one)}};
  for (int step = 0; step < 8; ++step) {
    const auto spec = client_->ExecuteTo(add, sum);
    ASSERT_TRUE(spec.ok()) << spec.status();
  }
  EXPECT_EQ(InfoOfGpu().counters.kept_results, 8u);
  EXPECT_EQ(InfoOfGpu().counters.read_results, 0u);
  EXPECT_EQ(ValuesOf(sum), Floats(5000, 8));
  EXPECT_EQ(InfoOfGpu().counters.read_results, 1u);
  EXPECT_TRUE(client_->ExecuteTo(add, sum).ok());
  gpu_.script()->ForgetAll();
  EXPECT_EQ(ValuesOf(sum), Floats(5000, 9));
  EXPECT_EQ(InfoOfGpu().counters.recomputed_results, 1u);
}

TEST_F(ClientPlacedTest, AVolatileTensorIsListedAndMayBeLost) {
  StartWithGpu();
  const Floats ones(5000, 1);
  const auto lease = client_->CreateTensor(ViewOf(ones), {.device = "null/0", .is_volatile = true});
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto list = client_->ListTensors();
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->tensors.size(), 1u);
  EXPECT_TRUE(list->tensors[0].is_volatile);
  const OperatorCall add = {
      .operator_name = "ELEMENT_WISE_ADD",
      .inputs = {TensorView::At(lease->handle), TensorView::At(lease->handle)}};
  ASSERT_TRUE(client_->ExecuteTo(add, lease->handle).ok());
  gpu_.script()->ForgetAll();
  const absl::Status lost = client_->ReadTensor(lease->handle).status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GetErrorReason(lost), "TENSOR_LOST");
  EXPECT_FALSE(client_->CreateTensor(ViewOf(ones), {.is_volatile = true}).ok());
}

}  // namespace
}  // namespace opserve::testing
