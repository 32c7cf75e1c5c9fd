// Large calls take the fastest path by themselves: their results are right, whatever path it is and
// whatever becomes of it.

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "opserve/ops.h"
#include "tests/integration/client_fixture.h"
#include "tests/integration/network_address.h"

namespace opserve::testing {
namespace {

constexpr size_t kElements = size_t{1} << 16;
constexpr uint64_t kBytes = kElements * sizeof(float);

class ClientPathsTest : public ClientFixture {
 protected:
  // Different halves, none of them rounded.
  static Floats Values(float first) {
    Floats values(kElements);
    for (size_t i = 0; i < kElements; ++i) values[i] = first + static_cast<float>(i) + 0.75f;
    return values;
  }
  static Floats Rounded(float first) {
    Floats values(kElements);
    for (size_t i = 0; i < kElements; ++i) values[i] = first + static_cast<float>(i) + 1;
    return values;
  }

  struct Outcome {
    Floats values;
    PayloadPath path;
  };
  static Outcome Run(Client& client, float first = 0) {
    const Floats values = Values(first);
    ExecutionInfo info;
    const auto output = client.Execute(Round(ViewOf(values)), {}, &info);
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) return {};
    return {*output->ToFloats(), info.path};
  }
  // Calls of Run go through shared memory from now on.
  void StartAndLearn() {
    Start();
    EXPECT_EQ(Run(*client_).path, PayloadPath::kMessage);
    EXPECT_EQ(Run(*client_).path, PayloadPath::kSharedMemory);
  }
  // Calls of Run after the server was started anew.
  void ExpectToShareAnew() {
    const Outcome first = Run(*client_, 1);
    EXPECT_EQ(first.path, PayloadPath::kMessage) << "its memory is known to the old one";
    EXPECT_EQ(first.values, Rounded(1));
    const Outcome second = Run(*client_, 2);
    EXPECT_EQ(second.path, PayloadPath::kSharedMemory);
    EXPECT_EQ(second.values, Rounded(2));
  }
  // How many regions of so many bytes there is room for.
  static size_t RoomFor(Client& client, uint64_t bytes) {
    std::vector<SharedRegion> regions;
    while (true) {
      auto region = client.CreateRegion(bytes);
      if (!region.ok()) return regions.size();
      regions.push_back(*std::move(region));
    }
  }
};

TEST_F(ClientPathsTest, ResultsAreTheSameOnEachPath) {
  StartAndLearn();
  for (const float first : {0.0f, 100.0f, -70000.0f}) {
    const Outcome outcome = Run(*client_, first);
    EXPECT_EQ(outcome.path, PayloadPath::kSharedMemory);
    EXPECT_EQ(outcome.values, Rounded(first));
  }
  const auto in_messages = Connect({.max_shared_bytes = 0});
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Run(*in_messages);
    EXPECT_EQ(outcome.path, PayloadPath::kMessage);
    EXPECT_EQ(outcome.values, Rounded(0));
  }
}

// Several rings full, of inputs of different types. A thread that lost its turn too often sends
// messages instead.
TEST_F(ClientPathsTest, InputsThatGoThroughARingGiveTheSame) {
  Start();
  const auto in_messages = Connect({.max_shared_bytes = 0});
  constexpr uint32_t kCount = 3'000'001;
  std::vector<uint8_t> conditions(kCount);
  Floats a(kCount);
  Floats b(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    conditions[i] = static_cast<uint8_t>(i % 3 == 0);
    a[i] = static_cast<float>(i);
    b[i] = -0.5f * static_cast<float>(i);
  }
  const std::vector<uint32_t> sizes = {kCount};
  const OperatorCall call =
      ops::If(TensorView::Of<uint8_t>(conditions, sizes), TensorView::Of<float>(a, sizes),
              TensorView::Of<float>(b, sizes));
  const auto expected = in_messages->Execute(call);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(expected->bytes().size(), kCount * sizeof(float));
  const auto is_expected = [&](const void* bytes) {
    return std::memcmp(bytes, expected->bytes().data(), expected->bytes().size()) == 0;
  };
  Floats target(kCount);
  for (int i = 0; i < 4; ++i) {
    const auto output = client_->Execute(call);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_TRUE(is_expected(output->bytes().data())) << i;
    target.assign(kCount, 0);
    ASSERT_TRUE(client_->ExecuteInto(call, std::span(target)).ok());
    EXPECT_TRUE(is_expected(target.data())) << i;
  }
}

TEST_F(ClientPathsTest, InputsMayHaveNamesStridesAndLayouts) {
  Start();
  const Floats a = Values(0);
  const Floats b = {1, 2};
  // Rows of two; the other input is repeated for each of them.
  OperatorCall call = {.operator_name = "ELEMENT_WISE_SUBTRACT"};
  call.inputs.push_back(TensorView::Of<float>(b, {kElements / 2, 2}, {0, 1}).set_name("BTensor"));
  call.inputs.push_back(TensorView::Of<float>(a, {kElements / 2, 2}).set_name("ATensor"));
  call.output = {DataType::kFloat32, {kElements / 2, 2}, {1, kElements / 2}};
  ASSERT_TRUE(client_->Execute(call).ok());
  ExecutionInfo info;
  const auto output = client_->Execute(call, {}, &info);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(info.path, PayloadPath::kSharedMemory);
  EXPECT_EQ(output->spec(), *call.output);
  const Floats values = *output->ToFloats();
  for (size_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(values[(i % 2) * (kElements / 2) + i / 2], a[i] - b[i % 2]) << i;
  }
}

TEST_F(ClientPathsTest, AResultMayGoToTheMemoryOfItsInput) {
  Start();
  Floats values = Values(5);
  ExecutionInfo info;
  const auto spec = client_->ExecuteInto(Round(ViewOf(values)),
                                         std::as_writable_bytes(std::span(values)), {}, &info);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(info.path, PayloadPath::kSharedMemory);
  EXPECT_EQ(values, Rounded(5));
  std::vector<std::byte> small(kBytes - 4);
  const absl::Status status = client_->ExecuteInto(Round(ViewOf(values)), small).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("there is room for 262140"));
}

TEST_F(ClientPathsTest, ResultsGoToElementsOfTheirType) {
  Start();
  const Floats values = {-1.5f, 0.25f, 2.5f};
  Floats rounded(3);
  const auto spec = client_->ExecuteInto(ops::Round(ViewOf(values), RoundingMode::kTowardZero),
                                         std::span(rounded));
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, FloatsSpec(3));
  EXPECT_EQ(rounded, (Floats{-1, 0, 2}));
  // As many bytes, but not what the operator gives.
  std::vector<int32_t> integers(3, 7);
  const absl::Status wrong =
      client_->ExecuteInto(ops::Negate(ViewOf(values)), std::span(integers)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
  EXPECT_EQ(integers, std::vector<int32_t>(3, 7));
  OperatorCall call = ops::Negate(ViewOf(values));
  call.output = {DataType::kFloat32};
  const absl::Status other = client_->ExecuteInto(call, std::span(integers)).status();
  EXPECT_EQ(other,
            absl::InvalidArgumentError("there is room for INT32, but the call wants FLOAT32"));
}

TEST_F(ClientPathsTest, TheTypeOfElementsDecidesWhereTheOperatorLeavesItOpen) {
  Start();
  const Floats values = {-1.5f, 0.25f, 250};
  const Floats scale = {0.5f, 0.5f, 0.5f};
  std::vector<uint8_t> quantised(3);
  const OperatorCall call = ops::QuantizeLinear(ViewOf(values), ViewOf(scale));
  ASSERT_TRUE(client_->ExecuteInto(call, std::span(quantised)).ok());
  EXPECT_EQ(quantised, (std::vector<uint8_t>{0, 0, 255}));
  std::vector<int8_t> with_sign(3);
  ASSERT_TRUE(client_->ExecuteInto(call, std::span(with_sign)).ok());
  EXPECT_EQ(with_sign, (std::vector<int8_t>{-3, 0, 127}));
}

TEST_F(ClientPathsTest, ErrorsAreThoseOfMessages) {
  StartAndLearn();
  const Floats values = Values(0);
  OperatorCall call = Round(ViewOf(values));
  call.attributes[0].value = std::string("UPWARDS");
  const absl::Status status = client_->Execute(call).status();
  ASSERT_EQ(GetViolations(status).size(), 1u) << status;
  EXPECT_EQ(GetViolations(status)[0].field, "attributes[0].value");
  const auto in_messages = Connect({.max_shared_bytes = 0});
  EXPECT_EQ(in_messages->Execute(call).status(), status);
}

TEST_F(ClientPathsTest, StartedCallsAreSharedToo) {
  StartAndLearn();
  std::vector<Floats> inputs;
  std::vector<Call<Tensor>> calls;
  for (int i = 0; i < 8; ++i) inputs.push_back(Values(static_cast<float>(i)));
  for (const Floats& input : inputs) calls.push_back(client_->StartExecute(Round(ViewOf(input))));
  for (int i = 0; i < 8; ++i) {
    const auto output = calls[i].Wait();
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(*output->ToFloats(), Rounded(static_cast<float>(i)));
    EXPECT_EQ(calls[i].info().path, PayloadPath::kSharedMemory);
  }
}

TEST_F(ClientPathsTest, ResultsOutliveClientAndServer) {
  StartAndLearn();
  const Floats values = Values(3);
  const auto output = client_->Execute(Round(ViewOf(values)));
  ASSERT_TRUE(output.ok()) << output.status();
  client_.reset();
  server_.reset();
  EXPECT_EQ(*output->ToFloats(), Rounded(3));
}

TEST_F(ClientPathsTest, ResultsThatAreKeptLeaveOthersTheMessages) {
  Start();
  client_ = Connect({.max_shared_bytes = 3 * kBytes});
  Run(*client_);
  const Floats values = Values(3);
  std::vector<Tensor> kept;
  std::vector<PayloadPath> paths;
  for (int i = 0; i < 4; ++i) {
    ExecutionInfo info;
    kept.push_back(*client_->Execute(Round(ViewOf(values)), {}, &info));
    paths.push_back(info.path);
  }
  EXPECT_THAT(paths, ::testing::ElementsAre(PayloadPath::kSharedMemory, PayloadPath::kSharedMemory,
                                            PayloadPath::kMessage, PayloadPath::kMessage));
  for (const Tensor& tensor : kept) EXPECT_EQ(*tensor.ToFloats(), Rounded(3));
  kept.clear();
  EXPECT_EQ(Run(*client_).path, PayloadPath::kSharedMemory);
}

TEST_F(ClientPathsTest, AServerThatAllowsNoMoreMemoryGetsMessages) {
  options_.regions.limits.max_bytes = kBytes;
  Start();
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = Run(*client_);
    EXPECT_EQ(outcome.path, PayloadPath::kMessage);
    EXPECT_EQ(outcome.values, Rounded(0));
  }
}

TEST_F(ClientPathsTest, AServerWithoutASocketFileGetsMessages) {
  options_.listen = {"127.0.0.1:0"};
  StartServer();
  const auto client = *Client::Connect(server_->addresses()[0]);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(*client).path, PayloadPath::kMessage);
}

TEST_F(ClientPathsTest, CallersOverTheLoopbackInterfaceShareMemory) {
  options_.listen.push_back("127.0.0.1:0");
  StartServer();
  const auto client = *Client::Connect(server_->addresses()[1]);
  Run(*client);
  const Outcome outcome = Run(*client, 9);
  EXPECT_EQ(outcome.path, PayloadPath::kSharedMemory);
  EXPECT_EQ(outcome.values, Rounded(9));
}

TEST_F(ClientPathsTest, AddressesOfTheNetworkGetMessages) {
  const std::string address = NetworkAddress();
  if (address.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  options_.listen.push_back(address + ":0");
  options_.insecure = true;
  options_.access.allow_anonymous = true;
  StartServer();
  const auto client = *Client::Connect(server_->addresses()[1]);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(*client).path, PayloadPath::kMessage);
}

TEST_F(ClientPathsTest, AServerThatWasStartedAnewIsSharedWithAgain) {
  StartAndLearn();
  server_.reset();
  StartServer();
  ExpectToShareAnew();
}

TEST_F(ClientPathsTest, AServerThatWasStartedAnewMayCallItselfSomethingElse) {
  options_.advertise = "a.example:50051";
  StartAndLearn();
  server_.reset();
  options_.advertise = "b.example:50051";
  StartServer();
  ExpectToShareAnew();
}

TEST_F(ClientPathsTest, MemoryGoesWithTheClient) {
  options_.regions.limits.max_bytes_per_user = 4 * kBytes;
  StartAndLearn();
  const auto other = Connect({});
  EXPECT_EQ(RoomFor(*other, kBytes), 2u) << "an input and a result are kept";
  client_.reset();
  // Its connection is served in order, so once another one is answered it has ended.
  const auto third = Connect({});
  EXPECT_EQ(RoomFor(*third, kBytes), 4u);
}

TEST_F(ClientPathsTest, ThreadsShareTheMemory) {
  Start();
  client_ = Connect({.max_shared_bytes = 6 * kBytes});
  std::atomic<int> wrong = 0;
  std::atomic<int> shared = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto first = static_cast<float>(100 * t + i);
        const Outcome outcome = Run(*client_, first);
        if (outcome.values != Rounded(first)) ++wrong;
        if (outcome.path == PayloadPath::kSharedMemory) ++shared;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(shared, 0);
}

}  // namespace
}  // namespace opserve::testing
