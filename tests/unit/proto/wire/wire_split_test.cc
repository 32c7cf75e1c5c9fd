// Messages made by hand, cut at every place: what is header, what is payload, and what is neither.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/wire_check.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kNoLimit = size_t{1} << 40;

std::string Bytes(std::initializer_list<int> values) {
  return std::string(values.begin(), values.end());
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Field 16, as encoders write it.
std::string Payload(const std::string& content) {
  return Bytes({0x82, 0x01, static_cast<int>(content.size())}) + content;
}

// The operator's name, field 1.
std::string Name(const std::string& text) {
  return Bytes({0x0a, static_cast<int>(text.size())}) + text;
}

struct Parts {
  SplitResult result = SplitResult::kOk;
  std::string header = {};
  std::vector<std::string> payloads = {};
};

Parts SplitAt(const std::string& message, const std::vector<size_t>& cuts,
              size_t limit = kNoLimit) {
  const SlicedMessage sliced(message, cuts);
  SplitMessage split;
  Parts parts{.result = Split(sliced.views(), kPayloadField, limit, split)};
  parts.header = split.header;
  if (parts.result != SplitResult::kOk) return parts;
  for (const PayloadPlace& place : split.payloads) {
    parts.payloads.push_back(PayloadOf(sliced.views(), place));
  }
  return parts;
}

// Whole, cut once and cut twice at every place, and byte by byte: as protobuf has it, every time.
void ExpectAgreement(const std::string& message) {
  EXPECT_EQ(WireDifference(message, {}), "");
  std::vector<size_t> every;
  for (size_t first = 0; first <= message.size(); ++first) {
    every.push_back(first);
    for (size_t second = first; second <= message.size(); ++second) {
      ASSERT_EQ(WireDifference(message, {first, second}), "") << first << ", " << second;
    }
  }
  EXPECT_EQ(WireDifference(message, every), "");
}

bool IsAccepted(const std::string& message) {
  return SplitAt(message, {}).result == SplitResult::kOk;
}

TEST(WireSplitTest, SeparatesPayloadsFromTheHeader) {
  const std::string message = Payload("abc") + Name("ROUND") + Payload("") + Payload("defg") +
                              Bytes({0x38, 0x02}) + Payload("");
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    const Parts parts = SplitAt(message, {cut});
    ASSERT_EQ(parts.result, SplitResult::kOk);
    EXPECT_EQ(parts.header, Name("ROUND") + Bytes({0x38, 0x02}));
    EXPECT_THAT(parts.payloads, ElementsAre("abc", "", "defg", ""));
  }
  ExpectAgreement(message);
}

TEST(WireSplitTest, AnEmptyMessageIsOne) {
  SplitMessage split;
  EXPECT_EQ(Split({}, kPayloadField, kNoLimit, split), SplitResult::kOk);
  EXPECT_EQ(split.header, "");
  EXPECT_THAT(split.payloads, IsEmpty());
  ExpectAgreement("");
}

TEST(WireSplitTest, PayloadsAreUsedInPlaceExactlyWhereTheyLieInOneSlice) {
  const std::string message = Name("R") + Payload("payload") + Payload("x");
  const size_t begin = message.find("payload");
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    const SlicedMessage sliced(message, {cut});
    SplitMessage split;
    ASSERT_EQ(Split(sliced.views(), kPayloadField, kNoLimit, split), SplitResult::kOk);
    const std::byte* const bytes = InOnePiece(sliced.views(), split.payloads[0]);
    const bool is_divided = cut > begin && cut < begin + 7;
    EXPECT_EQ(bytes == nullptr, is_divided) << cut;
    if (!is_divided) {
      EXPECT_EQ(bytes, cut > begin ? &sliced.views()[0][begin] : &sliced.views()[1][begin - cut]);
    }
  }
}

TEST(WireSplitTest, KeepsFieldsThatOnlyLookLikePayloads) {
  const std::vector<std::string> fields = {
      Bytes({0x80, 0x01, 0x05}),                                // 16 as a varint
      Bytes({0x81, 0x01, 1, 2, 3, 4, 5, 6, 7, 8}),              // 16 as eight bytes
      Bytes({0x85, 0x01, 1, 2, 3, 4}),                          // 16 as four bytes
      Bytes({0x83, 0x01, 0x82, 0x01, 0x01, 'x', 0x84, 0x01}),   // 16 as a group, in it a 16
      Bytes({0x93, 0x03, 0x0b, 0x08, 0x01, 0x0c, 0x94, 0x03}),  // groups in a group
      Bytes({0x2a, 0x05, 0x82, 0x01, 0x02, 'x', 'y'}),          // 16 inside an input
      Bytes({0xa2, 0x06, 0x03, 0x82, 0x01, 0x00}),              // unknown field 100
  };
  for (const std::string& field : fields) {
    const std::string message = Name("R") + field + Payload("abc");
    EXPECT_EQ(SplitAt(message, {}).header, Name("R") + field);
    ExpectAgreement(message);
  }
}

TEST(WireSplitTest, ReadsOverlongNumbersAsProtobufDoes) {
  const std::vector<std::string> accepted = {
      Bytes({0x82, 0x81, 0x00, 0x01, 'x'}),                    // tag of three bytes
      Bytes({0x82, 0x81, 0x80, 0x80, 0x00, 0x01, 'x'}),        // of five
      Bytes({0x82, 0x81, 0x80, 0x80, 0x70, 0x01, 'x'}),        // of five, with surplus bits
      Bytes({0x82, 0x01, 0x81, 0x80, 0x80, 0x80, 0x00, 'x'}),  // length of five bytes
      Bytes({0x38}) + Repeat("\xff", 9) + "\x01",              // varint of ten bytes
      Bytes({0x38}) + Repeat("\xff", 9) + "\x7f",              // with surplus bits
  };
  const std::vector<std::string> refused = {
      Bytes({0x82, 0x81, 0x80, 0x80, 0x80, 0x00, 0x01, 'x'}),        // tag of six bytes
      Bytes({0x82, 0x01, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 'x'}),  // length of six bytes
      Bytes({0x38}) + Repeat("\xff", 10) + "\x01",                   // varint of eleven bytes
  };
  for (const std::string& message : accepted) {
    EXPECT_TRUE(IsAccepted(message));
    ExpectAgreement(message);
  }
  for (const std::string& message : refused) {
    EXPECT_FALSE(IsAccepted(message));
    ExpectAgreement(message);
  }
}

TEST(WireSplitTest, RefusesWhatIsNoMessage) {
  const std::vector<std::string> broken = {
      Bytes({0x00}),             // tag 0
      Bytes({0x02, 0x01, 'x'}),  // field number 0
      Bytes({0x00, 0x01}),
      Bytes({0x03, 0x04}),
      Bytes({0x86, 0x01}),
      Bytes({0x87, 0x01}),                                // wire types 6 and 7
      Bytes({0x93, 0x03}),                                // group without end
      Bytes({0x94, 0x03}),                                // end without group
      Bytes({0x93, 0x03, 0x0c}),                          // end of another group
      Bytes({0x93, 0x03, 0x00, 0x94, 0x03}),              // tag 0 in a group
      Bytes({0x82, 0x01, 0xff, 0xff, 0xff, 0xff, 0x07}),  // lengths beyond the end:
      Bytes({0x82, 0x01, 0xf0, 0xff, 0xff, 0xff, 0x07}),
      Bytes({0x82, 0x01, 0xff, 0xff, 0xff, 0xff, 0x0f}),
      Bytes({0x82, 0x01, 0x80, 0x80, 0x80, 0x80, 0x10, 'x'}),  // 2^32, which is 0 in 32 bits
      Bytes({0x82, 0x01, 0x02, 'x'}),
      Bytes({0x82, 0x01}),
      Bytes({0x82}),
      Bytes({0x0a, 0x02, 'x'}),
  };
  for (const std::string& tail : broken) {
    EXPECT_FALSE(IsAccepted(tail)) << ::testing::PrintToString(tail);
    ExpectAgreement(Payload("abc") + tail);
  }
  // What is wrong inside a field is left to protobuf.
  ExpectAgreement(Bytes({0x0a, 0x02, 0xc3, 0x28}) + Payload("x"));  // text that is no UTF-8
  ExpectAgreement(Bytes({0x2a, 0x02, 0x10}) + Payload("x"));        // an input cut short
  const std::string good = Name("ROUND") + Payload("abc") + Bytes({0x38, 0x81, 0x01});
  for (size_t length = 0; length <= good.size(); ++length) {
    ExpectAgreement(good.substr(0, length));
  }
}

TEST(WireSplitTest, NestsGroupsAsDeepAsProtobuf) {
  for (const int depth : {1, 99, 100, 101, 5000}) {
    const std::string message = Repeat("\x0b", depth) + Repeat("\x0c", depth);
    EXPECT_EQ(IsAccepted(message), depth <= 100);
    EXPECT_EQ(WireDifference(message, {message.size() / 2}), "");
  }
}

TEST(WireSplitTest, BoundsAllButTheContentsOfPayloads) {
  const std::string message = Name("ROUND") + Payload("abcdefgh") + Payload("");
  constexpr size_t kHeader = 7 + 3 + 3;  // with the tags and lengths of the payloads
  EXPECT_EQ(SplitAt(message, {}, kHeader).result, SplitResult::kOk);
  EXPECT_EQ(SplitAt(message, {}, kHeader - 1).result, SplitResult::kHeaderTooLarge);
  // Nothing is copied of a field that is too large.
  const Parts parts = SplitAt(Name(std::string(100, 'x')), {}, 50);
  EXPECT_EQ(parts.result, SplitResult::kHeaderTooLarge);
  EXPECT_EQ(parts.header, "");
}

}  // namespace
}  // namespace opserve::testing
