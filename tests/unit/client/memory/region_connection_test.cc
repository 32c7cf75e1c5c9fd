// The client's end of the socket for shared memory; the tests are the other end.

#include "client/memory/region_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/base/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::client_internal {
namespace {

using ::testing::HasSubstr;

absl::Duration NoTime() { return absl::ZeroDuration(); }
absl::Duration Minute() { return absl::Minutes(1); }

class RegionConnectionTest : public ::testing::Test {
 protected:
  RegionConnectionTest() {
    char pattern[] = "/tmp/opserve-regions-XXXXXX";
    folder_ = mkdtemp(pattern);
    info_ = {folder_ + "/regions", 4096};
    auto listener = ListenForPackets(info_.socket, 0600);
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  ~RegionConnectionTest() override { std::filesystem::remove_all(folder_); }

  // A connection and its other end.
  std::shared_ptr<RegionConnection> Connect() {
    auto connection = RegionConnection::Connect(info_, Minute);
    EXPECT_TRUE(connection.ok()) << connection.status();
    peer_ = UniqueFd(accept(listener_.get(), nullptr, nullptr));
    return *std::move(connection);
  }

  // The next request that was sent.
  v1::RegionRequest Next() const {
    v1::RegionRequest request;
    if (!WaitForPacket(peer_, absl::ZeroDuration())) return request;
    const auto packet = ReceivePacket(peer_);
    EXPECT_TRUE(packet.ok() && request.ParseFromString(packet->bytes));
    EXPECT_EQ(packet->descriptors.size(), request.has_register_() ? 1u : 0u);
    return request;
  }
  void Answer(const v1::RegionResponse& response) const {
    EXPECT_TRUE(SendPacket(peer_, response.SerializeAsString()).ok());
  }
  void AnswerWithRegion(const std::string& region) const {
    v1::RegionResponse response;
    response.set_region(region);
    Answer(response);
  }
  void Refuse() const {
    rpc::ErrorInfo info;
    info.set_reason("REGION_QUOTA");
    rpc::Status status;
    status.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
    status.set_message("enough");
    auto& detail = *status.add_details();
    detail.set_type_url(std::string(kErrorInfoUrl));
    detail.set_value(info.SerializeAsString());
    v1::RegionResponse response;
    response.set_error(status.SerializeAsString());
    Answer(response);
  }

  std::string folder_;
  SharedMemoryInfo info_;
  UniqueFd listener_;
  UniqueFd peer_;
  const UniqueFd memfd_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

TEST_F(RegionConnectionTest, RegistersWithTheDescriptor) {
  const auto connection = Connect();
  AnswerWithRegion("r");
  const auto region = connection->Register(memfd_.get(), 123, Minute);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ(*region, "r");
  EXPECT_EQ(Next().register_().bytes(), 123u);
  connection->Unregister("r");
  EXPECT_EQ(Next().unregister().region(), "r");
}

TEST_F(RegionConnectionTest, PassesTheServersStatusOn) {
  const auto connection = Connect();
  Refuse();
  const absl::Status status = connection->Register(memfd_.get(), 1, Minute).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(GetErrorReason(status), "REGION_QUOTA");
}

TEST_F(RegionConnectionTest, HearsTheLastWordsOfAServerThatHangsUp) {
  for (const bool has_unread : {false, true}) {
    auto connection = RegionConnection::Connect(info_, Minute);
    ASSERT_TRUE(connection.ok()) << connection.status();
    // The server has not seen this one when it hangs up, which is an error of the connection.
    if (has_unread) (*connection)->Unregister("x");
    peer_ = UniqueFd(accept(listener_.get(), nullptr, nullptr));
    if (has_unread) AnswerWithRegion("x");
    Refuse();
    peer_ = UniqueFd();
    EXPECT_EQ(GetErrorReason((*connection)->Register(memfd_.get(), 1, Minute).status()),
              "REGION_QUOTA");
    const absl::Status status = (*connection)->Register(memfd_.get(), 1, Minute).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(info_.socket));
  }
}

TEST_F(RegionConnectionTest, WhatIsNoAnswerEndsIt) {
  const auto connection = Connect();
  EXPECT_TRUE(SendPacket(peer_, "\xff").ok());
  EXPECT_TRUE(absl::IsUnavailable(connection->Register(memfd_.get(), 1, Minute).status()));
}

TEST_F(RegionConnectionTest, GivesUpRegionsThatComeTooLate) {
  const auto connection = Connect();
  EXPECT_TRUE(absl::IsDeadlineExceeded(connection->Register(memfd_.get(), 1, NoTime).status()));
  EXPECT_TRUE(Next().has_register_());
  EXPECT_TRUE(absl::IsDeadlineExceeded(connection->Register(memfd_.get(), 2, NoTime).status()));
  EXPECT_EQ(Next().action_case(), v1::RegionRequest::ACTION_NOT_SET) << "one at a time";
  AnswerWithRegion("late");
  connection->Unregister("other");
  EXPECT_EQ(Next().unregister().region(), "late");
  EXPECT_EQ(Next().unregister().region(), "other");
  AnswerWithRegion("late");
  AnswerWithRegion("other");
  AnswerWithRegion("r");
  EXPECT_EQ(*connection->Register(memfd_.get(), 3, Minute), "r");
}

TEST_F(RegionConnectionTest, NobodyWaitsForTheAnswerToAnotherBeyondHisTime) {
  const auto connection = Connect();
  auto first =
      std::async(std::launch::async, [&] { return connection->Register(memfd_.get(), 1, Minute); });
  ASSERT_TRUE(WaitForPacket(peer_, Minute()));
  EXPECT_TRUE(Next().has_register_());
  const absl::Time start = absl::Now();
  const auto second = connection->Register(memfd_.get(), 2, [] { return absl::Milliseconds(50); });
  EXPECT_TRUE(absl::IsDeadlineExceeded(second.status())) << second.status();
  connection->Unregister("unwanted");
  EXPECT_LT(absl::Now() - start, Minute() / 2);
  EXPECT_EQ(Next().action_case(), v1::RegionRequest::ACTION_NOT_SET) << "one at a time";
  AnswerWithRegion("r");
  EXPECT_EQ(*first.get(), "r");
  EXPECT_EQ(Next().unregister().region(), "unwanted");
  AnswerWithRegion("unwanted");
  AnswerWithRegion("s");
  EXPECT_EQ(*connection->Register(memfd_.get(), 3, Minute), "s");
}

TEST_F(RegionConnectionTest, OthersTakeTheirTurns) {
  const auto connection = Connect();
  std::vector<std::future<absl::StatusOr<std::string>>> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(std::async(std::launch::async,
                               [&] { return connection->Register(memfd_.get(), 1, Minute); }));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    ASSERT_TRUE(WaitForPacket(peer_, Minute()));
    EXPECT_TRUE(Next().has_register_());
    AnswerWithRegion("r");
  }
  for (auto& call : calls) EXPECT_EQ(*call.get(), "r");
}

TEST_F(RegionConnectionTest, NobodyThere) {
  std::filesystem::remove(info_.socket);
  const absl::Status status = RegionConnection::Connect(info_, Minute).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(info_.socket));
}

TEST_F(RegionConnectionTest, NobodyAccepts) {
  std::vector<std::shared_ptr<RegionConnection>> connections;
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    auto connection = RegionConnection::Connect(info_, [] { return absl::Milliseconds(10); });
    status = connection.status();
    if (connection.ok()) connections.push_back(*std::move(connection));
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

}  // namespace
}  // namespace opserve::client_internal
