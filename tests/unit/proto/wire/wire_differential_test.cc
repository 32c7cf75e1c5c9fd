// A million mutated messages, each cut at random: the split must say what protobuf's parser says.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/wire_check.h"

namespace opserve::testing {
namespace {

constexpr int kRequests = 1'200'000;
constexpr int kResponses = 400'000;

class MessageMaker {
 public:
  explicit MessageMaker(uint64_t seed) : random_(seed) {}

  // A valid message with some of its bytes replaced, removed, doubled or added.
  template <class Message>
  std::string Make() {
    Message valid;
    Fill(valid);
    std::string message = valid.SerializeAsString();
    for (size_t left = Below(5); left > 0; --left) Mutate(message);
    return message;
  }

  std::vector<size_t> Cuts(size_t size) {
    std::vector<size_t> cuts(Below(6));
    for (size_t& cut : cuts) cut = Below(size + 1);
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }

  std::string Text(size_t most) {
    std::string text(Below(most + 1), '\0');
    for (char& letter : text) letter = static_cast<char>('A' + Below(26));
    return text;
  }

  void Fill(v1::ExecuteResponse& response) {
    response.set_request_id(Text(8));
    if (Below(2) == 0) response.mutable_execution()->set_device(Text(8));
    if (Below(2) == 0) response.mutable_execution()->set_run_time_ns(random_());
    if (Below(4) == 0) response.mutable_output()->add_sizes(static_cast<uint32_t>(Below(300)));
    response.set_payload(Text(Below(8) == 0 ? 200 : 12));
  }

  void Fill(v1::ExecuteRequest& request) {
    request.set_operator_(Text(8));
    if (Below(2) == 0) request.set_request_id(Text(8));
    if (Below(2) == 0) request.set_device(v1::DEVICE_PREFERENCE_CPU);
    if (Below(4) == 0) request.add_attributes()->set_name(Text(4));
    for (size_t i = Below(3); i > 0; --i) {
      v1::TensorDesc& input = *request.add_inputs();
      input.set_data_type(v1::DATA_TYPE_FLOAT32);
      for (size_t d = Below(4); d > 0; --d) input.add_sizes(static_cast<uint32_t>(Below(300)));
      request.add_payloads(Text(Below(8) == 0 ? 200 : 12));
    }
  }

  void Mutate(std::string& message) {
    const size_t at = Below(message.size() + 1);
    switch (Below(6)) {
      case 0:
        message.resize(at);
        break;
      case 1:
        message.insert(at, OddPiece());
        break;
      case 2:
        message += OddPiece();
        break;
      case 3:
        message.erase(at, Below(4));
        break;
      case 4:
        message.insert(at, message.substr(Below(message.size() + 1), Below(16)));
        break;
      default:
        if (at < message.size()) message[at] = static_cast<char>(random_());
    }
  }

  // Pieces in which encodings differ: odd tags, overlong numbers, groups, fields of the wrong type.
  std::string OddPiece() {
    static const std::vector<std::string>& pieces = *new std::vector<std::string>{
        std::string("\0", 1),
        "\x02\x01x",
        "\x82\x81\x80\x80\x10\x01x",
        std::string("\x82\x81\x80\x80\0\x01x", 7),
        std::string("\x82\x01\x81\x80\x80\x80\0y", 8),
        "\x82\x01\xff\xff\xff\xff\x07",
        "\x82\x01\x80\x80\x80\x80\x10",
        "\x80\x01\x05",
        "\x83\x01\x82\x01\x01x\x84\x01",
        "\x85\x01\x01\x02\x03\x04",
        "\x81\x01\x01\x02\x03\x04\x05\x06\x07\x08",
        "\x86\x01",
        "\x87\x01",
        "\x0b",
        "\x0c",
        "\x0b\x0c",
        "\x93\x03\x08\x01\x94\x03",
        "\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "\x0a\x02\xc3\x28",
        "\xa2\x06\x01x",
        std::string("\x82\x01\0", 3),
        "\x82\x01\x02zz",
        "\x82\x01",
        "\x82",
    };
    return pieces[Below(pieces.size())];
  }

  std::mt19937_64 random_;
};

template <class Message>
void ExpectAgreement(int messages) {
  MessageMaker maker(20220623);
  int valid = 0;
  for (int i = 0; i < messages; ++i) {
    const std::string message = maker.Make<Message>();
    const std::vector<size_t> cuts = maker.Cuts(message.size());
    ASSERT_EQ(WireDifference<Message>(message, cuts), "")
        << "message " << i << ": " << ::testing::PrintToString(message) << ", cut at "
        << ::testing::PrintToString(cuts);
    valid += Message().ParseFromString(message) ? 1 : 0;
  }
  // Both verdicts are common, or the test would show little.
  EXPECT_GT(valid, messages / 10);
  EXPECT_LT(valid, messages - messages / 10);
}

TEST(WireDifferentialTest, AgreesWithTheGeneratedParserOnRequests) {
  ExpectAgreement<v1::ExecuteRequest>(kRequests);
}

TEST(WireDifferentialTest, AgreesWithTheGeneratedParserOnResponses) {
  ExpectAgreement<v1::ExecuteResponse>(kResponses);
}

}  // namespace
}  // namespace opserve::testing
