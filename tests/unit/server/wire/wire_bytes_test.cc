// Requests and responses as the byte buffers of gRPC.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/wire/wire_message.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

grpc::ByteBuffer BufferOf(const std::string& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < bytes.size(); begin += slice_bytes) {
    slices.emplace_back(bytes.substr(begin, slice_bytes));
  }
  return {slices.data(), slices.size()};
}

absl::Status ReadInto(ReceivedMessage& message, grpc::ByteBuffer bytes,
                      google::protobuf::Message& header) {
  return message.Read(bytes, header);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  return bytes;
}

std::string TextOf(const std::byte* bytes, size_t size) {
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

v1::ExecuteRequest TwoPayloads() {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ROUND");
  request.add_payloads(std::string(1000, 'a'));
  request.add_payloads(std::string(5000, 'b'));
  return request;
}

TEST(ReceivedMessageTest, GathersOnlyWhatIsInManySmallPieces) {
  const std::string bytes = TwoPayloads().SerializeAsString();
  for (const size_t slice_bytes :
       {size_t{1}, size_t{7}, size_t{64}, size_t{500}, size_t{2000}, bytes.size()}) {
    HostBufferPool pool(1 << 20);
    v1::ExecuteRequest header;
    auto owned = std::make_unique<ReceivedMessage>();
    ReceivedMessage& request = *owned;
    ASSERT_TRUE(ReadInto(request, BufferOf(bytes, slice_bytes), header).ok());
    EXPECT_EQ(header.operator_(), "ELEMENT_WISE_ROUND");
    EXPECT_THAT(request.payload_bytes(), ElementsAre(1000, 5000));
    const std::vector<TensorBytes> payloads = request.Payloads(pool);
    EXPECT_EQ(TextOf(payloads[0].data(), 1000), std::string(1000, 'a'));
    EXPECT_EQ(TextOf(payloads[1].data(), 5000), std::string(5000, 'b'));
    owned.reset();
    // What was gathered has gone back to the pool. Very many slices were put together before.
    const bool is_together = slice_bytes <= 64;
    const uint64_t first = slice_bytes < 1000 && !is_together ? HostBufferSizeOf(1000) : 0;
    const uint64_t second = slice_bytes < 5000 && !is_together ? HostBufferSizeOf(5000) : 0;
    EXPECT_EQ(pool.idle_bytes(), first + second) << slice_bytes;
  }
}

std::string Digits(size_t size) {
  std::string digits(size, '\0');
  for (size_t i = 0; i < size; ++i) digits[i] = static_cast<char>('0' + i % 7);
  return digits;
}

TEST(ReceivedMessageTest, PutsManySmallSlicesTogether) {
  const std::string bytes = TwoPayloads().SerializeAsString();
  for (const size_t slice_bytes : {size_t{1}, size_t{7}, size_t{64}, size_t{2000}, bytes.size()}) {
    v1::ExecuteRequest header;
    ReceivedMessage request;
    ASSERT_TRUE(ReadInto(request, BufferOf(bytes, slice_bytes), header).ok());
    const size_t slices = (bytes.size() + slice_bytes - 1) / slice_bytes;
    EXPECT_EQ(request.slices().size(), slices > 16 ? 1 : slices) << slice_bytes;
    EXPECT_THAT(request.payload_bytes(), ElementsAre(1000, 5000));
  }
}

TEST(ReceivedMessageTest, LeavesLargePiecesWhereTheyAre) {
  const std::string content = Digits(100'000);
  v1::ExecuteRequest message;
  message.add_payloads(content);
  HostBufferPool pool(1 << 20);
  v1::ExecuteRequest header;
  ReceivedMessage request;
  ASSERT_TRUE(ReadInto(request, BufferOf(message.SerializeAsString(), 16'384), header).ok());
  const std::vector<TensorBytes> payloads = request.Payloads(pool);
  ASSERT_EQ(payloads.size(), 1u);
  EXPECT_EQ(payloads[0].pieces().size(), 7u);
  std::vector<std::byte> copy(content.size());
  payloads[0].CopyTo(copy.data(), copy.size());
  EXPECT_EQ(TextOf(copy.data(), copy.size()), content);
  EXPECT_EQ(payloads[0].pieces()[1].data(), request.slices()[1].data());
}

// A result that took the place of a payload is sent from where the payload was received.
TEST(ReceivedMessageTest, SendsThePlaceOfAPayload) {
  for (const size_t slice_bytes : {64, 16'384, 65'536, 300'000}) {
    v1::ExecuteRequest message;
    message.add_payloads(Digits(3000));
    message.add_payloads(Digits(100'000));
    HostBufferPool pool(1 << 20);
    OutgoingPayload sent;
    std::string expected = Digits(100'000).substr(0, 99'998);
    {
      v1::ExecuteRequest header;
      ReceivedMessage request;
      ASSERT_TRUE(
          ReadInto(request, BufferOf(message.SerializeAsString(), slice_bytes), header).ok());
      const TensorBytes payload = request.Payloads(pool)[1];
      const std::byte* const first =
          payload.data() != nullptr ? payload.data() : payload.pieces()[0].data();
      *const_cast<std::byte*>(first) = std::byte{'x'};
      expected[0] = 'x';
      sent = request.Send(1, expected.size());
    }
    v1::ExecuteResponse response;
    const grpc::ByteBuffer composed = ComposeMessage(response, {&sent, 1});
    response.set_payload(expected);
    EXPECT_EQ(BytesOf(composed), response.SerializeAsString()) << slice_bytes;
  }
}

TEST(OutgoingPayloadTest, PartsShareTheMemory) {
  const std::string text = Digits(1000);
  OutgoingPayload payload = {.bytes = text.size()};
  for (size_t at = 0; at < text.size(); at += 100) {
    payload.slices.emplace_back(text.substr(at, 100));
  }
  for (const auto& [offset, bytes] : std::vector<std::pair<size_t, size_t>>{
           {0, 1000}, {0, 100}, {99, 2}, {100, 100}, {150, 700}, {999, 1}, {1000, 0}}) {
    const OutgoingPayload part = payload.Part(offset, bytes);
    EXPECT_EQ(part.bytes, bytes);
    std::string joined;
    for (const grpc::Slice& slice : part.slices) joined.append(slice.begin(), slice.end());
    EXPECT_EQ(joined, text.substr(offset, bytes)) << offset;
  }
  EXPECT_EQ(payload.Part(100, 100).slices[0].begin(), payload.slices[1].begin());
}

TEST(ReceivedMessageTest, TakesTheBytesOver) {
  grpc::ByteBuffer buffer = BufferOf(TwoPayloads().SerializeAsString(), 100);
  v1::ExecuteRequest header;
  ReceivedMessage request;
  ASSERT_TRUE(request.Read(buffer, header).ok());
  EXPECT_FALSE(buffer.Valid());
}

TEST(ReceivedMessageTest, RefusesWhatIsNoRequest) {
  v1::ExecuteRequest header;
  ReceivedMessage request;
  const absl::Status status = ReadInto(request, BufferOf("\x12\x02id\x82\x01\x7fshort", 5), header);
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  EXPECT_THAT(std::string(status.message()), HasSubstr("opserve.v1.ExecuteRequest"));
  EXPECT_EQ(header.request_id(), "id");  // for the log
}

TEST(ReceivedMessageTest, RefusesHugeHeadersAndNamesTheLimit) {
  v1::ExecuteRequest huge = TwoPayloads();
  huge.set_request_id(std::string(kMaxRequestHeaderBytes, 'x'));
  v1::ExecuteRequest header;
  ReceivedMessage request;
  const absl::Status status =
      ReadInto(request, BufferOf(huge.SerializeAsString(), 1 << 16), header);
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  EXPECT_THAT(std::string(status.message()), HasSubstr("2097152"));
}

// A payload of `size` bytes, all 'r'.
OutgoingPayload PayloadOf(HostBufferPool& pool, size_t size) {
  auto buffer = std::make_shared<HostBuffer>(pool.Take(size));
  std::memset(buffer->data(), 'r', size);
  return {buffer->data(), size, buffer};
}

TEST(ComposeMessageTest, WritesTheBytesOfTheGeneratedCode) {
  HostBufferPool pool(1 << 20);
  for (const size_t size : {0, 1, 127, 128, 16383, 16384, 3000000}) {
    v1::ExecuteResponse response;
    response.set_request_id("some id");
    response.mutable_output()->set_data_type(v1::DATA_TYPE_FLOAT32);
    response.mutable_output()->add_sizes(static_cast<uint32_t>(size));
    response.mutable_execution()->set_device("cpu/TEST");
    const OutgoingPayload payload = PayloadOf(pool, size);
    const grpc::ByteBuffer composed = ComposeMessage(response, {&payload, 1});
    response.set_payload(std::string(size, 'r'));
    EXPECT_EQ(BytesOf(composed), response.SerializeAsString()) << size;
  }
}

TEST(ComposeMessageTest, WritesAnyNumberOfPayloads) {
  HostBufferPool pool(1 << 20);
  v1::ExecuteSequenceResponse response;
  response.set_request_id("some id");
  EXPECT_EQ(BytesOf(ComposeMessage(response, {})), response.SerializeAsString());
  const std::vector<OutgoingPayload> payloads = {PayloadOf(pool, 3), PayloadOf(pool, 200)};
  const grpc::ByteBuffer composed = ComposeMessage(response, payloads);
  response.add_payloads(std::string(3, 'r'));
  response.add_payloads(std::string(200, 'r'));
  EXPECT_EQ(BytesOf(composed), response.SerializeAsString());
}

TEST(ComposeMessageTest, SendsTheBufferItselfAndGivesItBack) {
  HostBufferPool pool(1 << 20);
  OutgoingPayload payload = PayloadOf(pool, 50000);
  {
    const grpc::ByteBuffer composed = ComposeMessage(v1::ExecuteResponse(), {&payload, 1});
    payload.owner = nullptr;
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(composed.Dump(&slices).ok());
    EXPECT_EQ(static_cast<const void*>(slices.back().begin()), payload.data);
    EXPECT_EQ(pool.idle_bytes(), 0u);
  }
  EXPECT_EQ(pool.idle_bytes(), HostBufferSizeOf(50000));
}

}  // namespace
}  // namespace opserve::testing
