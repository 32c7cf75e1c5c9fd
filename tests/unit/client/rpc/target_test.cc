// Targets as programs write them.

#include "client/rpc/target.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectMalformed(const std::string& target, const std::string& why) {
  const auto split = SplitTarget(target);
  EXPECT_TRUE(absl::IsInvalidArgument(split.status())) << target;
  EXPECT_EQ(GetErrorReason(split.status()), kInvalidTarget) << target;
  EXPECT_THAT(std::string(split.status().message()), HasSubstr(why)) << target;
}

TEST(TargetTest, ListsMixNamesAddressesAndSocketFiles) {
  EXPECT_THAT(*SplitTarget("a:1"), ElementsAre("a:1"));
  EXPECT_THAT(*SplitTarget("a:1,[::1]:2,unix:/run/a.sock,dns:///farm:3"),
              ElementsAre("a:1", "[::1]:2", "unix:/run/a.sock", "dns:///farm:3"));
  EXPECT_THAT(*SplitTarget("ipv4:10.0.0.1:1,10.0.0.2:1"),
              ElementsAre("ipv4:10.0.0.1:1", "10.0.0.2:1"));
  EXPECT_THAT(*SplitTarget("xds:///farm"), ElementsAre("xds:///farm"));
}

TEST(TargetTest, MalformedListsSayWhatIsWrong) {
  ExpectMalformed("a:1,,b:2", "has an empty address");
  ExpectMalformed("a:1,", "has an empty address");
  ExpectMalformed(",", "has an empty address");
  ExpectMalformed("a:1,b", "target 'b' has no port");
  ExpectMalformed("a:1,b:0", "target 'b:0' has no port between 1 and 65535");
  ExpectMalformed("a:1,:2", "target ':2' has no host");
  ExpectMalformed("a:1,https://b:2", "begins with https://");
  ExpectMalformed("a:1,::1:2", "has an IPv6 address without brackets");
  ExpectMalformed("a:1,b:2,a:1", "names a:1 twice");
  ExpectMalformed("a:1,xds:///farm", "has xds:///farm in a list");
  ExpectMalformed("unix:/a,/b", "target '/b' has no port");
  for (const std::string target : {"unix:", "unix://", "unix-abstract:"}) {
    ExpectMalformed(target, "target '" + target + "' names no socket file");
  }
  std::string many = "h0:1";
  for (size_t i = 1; i <= kMaxListedHosts; ++i) many += ",h" + std::to_string(i) + ":1";
  ExpectMalformed(many, "lists 257 hosts; at most 256 are allowed");
}

TEST(TargetTest, OnlyNamesOfDnsStandForAllTheirHosts) {
  EXPECT_TRUE(NamesAllHosts("dns:///farm:1"));
  EXPECT_FALSE(NamesAllHosts("farm:1"));
  EXPECT_FALSE(NamesAllHosts("dns:farm:1"));
}

}  // namespace
}  // namespace opserve::client_internal
