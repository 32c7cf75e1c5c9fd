// Memory of the real program while a tensor larger than its limits goes through a stream.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "opserve/sequence.h"
#include "opserve/stream.h"
#include "tests/integration/server_process.h"

namespace opserve {
namespace {

// Above what the idle program has: the window, and what gRPC and the allocator keep.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

OperatorCall Negate(const std::vector<uint32_t>& words) {
  return {.operator_name = "ELEMENT_WISE_BIT_NOT",
          .inputs = {TensorView::Of<uint32_t>(words, {static_cast<uint32_t>(words.size())})}};
}

// The same in three steps, after the first of them and after the last.
OperatorSequence NegateThrice(const std::vector<uint32_t>& words) {
  return {.inputs = {TensorView::Of<uint32_t>(words, {static_cast<uint32_t>(words.size())})},
          .steps = {{.operator_name = "ELEMENT_WISE_BIT_NOT", .inputs = {FromInput(0)}},
                    {.operator_name = "ELEMENT_WISE_BIT_NOT", .inputs = {FromStep(0)}},
                    {.operator_name = "ELEMENT_WISE_BIT_NOT", .inputs = {FromStep(1)}}},
          .outputs = {{.step = 2}, {.step = 0}}};
}

void ExpectNegated(const absl::StatusOr<Tensor>& output, const std::vector<uint32_t>& words) {
  ASSERT_TRUE(output.ok()) << output.status();
  const auto negated = *output->Elements<uint32_t>();
  ASSERT_EQ(negated.size(), words.size());
  for (size_t i = 0; i < words.size(); ++i) ASSERT_EQ(negated[i], ~words[i]) << i;
}

TEST(StreamMemoryTest, TheServerHoldsAWindowOfATensor) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> arguments = testing::ServerProcess::Serving(folder.path());
  for (const char* const argument : {"--max-tensor-bytes", "16MiB", "--max-message-bytes", "16MiB",
                                     "--max-queued-bytes", "64MiB"}) {
    arguments.emplace_back(argument);
  }
  testing::ServerProcess server(arguments);
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_FALSE(addresses.empty());
  const auto client = Client::Connect(addresses[0]);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto stream = (*client)->OpenStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  // The first request makes what every one needs.
  const std::vector<uint32_t> few(1000, 7);
  ASSERT_TRUE((*stream)->Start(Negate(few)).Wait().ok());
  const uint64_t idle = server.MemoryOf("VmRSS");
  ASSERT_GT(idle, 0u);

  std::vector<uint32_t> many(size_t{64} << 20);  // 256 MiB
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<uint32_t>(i * 2654435761u);
  ExpectNegated((*stream)->Start(Negate(many)).Wait(), many);
  const auto outputs = (*stream)->Start(NegateThrice(many)).Wait();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 2u);
  for (const SequenceResult& output : *outputs) ExpectNegated(*output.tensor, many);
  EXPECT_LE(server.MemoryOf("VmHWM") - idle, kMostBytes) << "idle: " << idle;
}

}  // namespace
}  // namespace opserve
