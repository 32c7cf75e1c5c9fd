// Ids that tell the host, and what another host says to them.

#include "server/errors/host_ids.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

TEST(HostIdsTest, IdsEndInTheAddress) {
  EXPECT_EQ(NewHostId("").find('@'), std::string::npos);
  const std::string id = NewHostId("a.example:50051");
  EXPECT_EQ(id.substr(id.find('@')), "@a.example:50051");
  EXPECT_NE(id, NewHostId("a.example:50051"));
}

TEST(HostIdsTest, ForeignIdsAreToldTheirHost) {
  const absl::Status unknown = absl::NotFoundError("unknown");
  EXPECT_EQ(NotFoundHere("1234", "a:1", unknown), unknown);
  EXPECT_EQ(NotFoundHere("1234@a:1", "a:1", unknown), unknown);
  for (const char* const host : {"a:1", ""}) {
    const absl::Status status = NotFoundHere("1234@b:2", host, unknown);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_NE(StatusDetails(status).find("WRONG_HOST"), std::string::npos);
    EXPECT_NE(status.message().find("the host b:2"), std::string::npos) << status;
  }
}

TEST(HostIdsTest, NobodyIsSentToWhatIsNoAddress) {
  const absl::Status unknown = absl::NotFoundError("unknown");
  for (const std::string& host :
       {std::string(), std::string("b"), std::string("b:0"), std::string("b:99999"),
        std::string(":1"), std::string("b c:1"), std::string("b:1@c:2"), std::string("b:1,c:2"),
        std::string("::1:2"), std::string("0.0.0.0:1"), std::string("[::]:1"),
        std::string("unix:a"), std::string("b\n:1"), std::string(kMaxHostBytes, 'b') + ":1"}) {
    EXPECT_FALSE(IsHostAddress(host)) << host;
    EXPECT_EQ(NotFoundHere(absl::StrCat("1234@", host), "a:1", unknown), unknown) << host;
  }
  for (const char* const host : {"b:1", "[::1]:65535", "unix:/run/b.sock", "10.0.0.2:50051"}) {
    EXPECT_TRUE(IsHostAddress(host)) << host;
  }
}

}  // namespace
}  // namespace opserve
