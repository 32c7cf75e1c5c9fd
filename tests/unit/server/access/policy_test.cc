// Rules, and the file that they come from.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/access/access_policy.h"
#include "server/access/policy_file.h"
#include "server/base/small_file.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Someone {
  std::string peer = "ipv4:10.0.0.7:1";
  std::string token = {};
  std::string certificate = {};
};

bool Match(const std::string& pattern, const Someone& who) {
  const auto parsed = CallerPattern::Parse(pattern);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const PeerIdentity peer = IdentityOf(who.peer);
  return parsed.ok() && parsed->Matches({who.certificate, who.token, peer});
}

AccessPolicy PolicyOf(const std::string& text) {
  auto policy = ParsePolicy(text, "policy.toml");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.ok() ? *std::move(policy) : AccessPolicy({}, FullGrant());
}

bool Has(const AccessPolicy& policy, const Someone& who, Role role) {
  const PeerIdentity peer = IdentityOf(who.peer);
  return policy.GrantOf({who.certificate, who.token, peer})->roles.Has(role);
}

std::string ErrorOf(const std::string& text) {
  return std::string(ParsePolicy(text, "policy.toml").status().message());
}

TEST(CallerPatternTest, StarsStandForAnything) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("a*b*c", "abc"));
  EXPECT_TRUE(MatchesGlob("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(MatchesGlob("*.farm.example", "node-1.farm.example"));
  EXPECT_FALSE(MatchesGlob("*.farm.example", "farm.example"));
  EXPECT_FALSE(MatchesGlob("*.farm.example", "node.farm.example.org"));
  EXPECT_FALSE(MatchesGlob("ci-", "ci-1"));
  EXPECT_FALSE(MatchesGlob("", "x"));
}

TEST(CallerPatternTest, EachKindIsForItsOwnProof) {
  EXPECT_TRUE(Match("token:ci-*", {.token = "ci-1"}));
  EXPECT_FALSE(Match("token:ci-*", {.certificate = "ci-1"}));
  EXPECT_FALSE(Match("token:*", {}));
  EXPECT_TRUE(Match("cert:*.farm.example", {.certificate = "a.farm.example"}));
  EXPECT_FALSE(Match("cert:*", {.token = "a"}));
  EXPECT_FALSE(Match("uid:*", {}));
}

TEST(CallerPatternTest, AddressesAreInPrefixes) {
  EXPECT_TRUE(Match("address:10.0.0.0/8", {.peer = "ipv4:10.255.0.1:1"}));
  EXPECT_FALSE(Match("address:10.0.0.0/8", {.peer = "ipv4:11.0.0.1:1"}));
  EXPECT_TRUE(Match("address:10.128.0.0/9", {.peer = "ipv4:10.129.0.1:1"}));
  EXPECT_FALSE(Match("address:10.128.0.0/9", {.peer = "ipv4:10.127.0.1:1"}));
  EXPECT_TRUE(Match("address:10.0.0.7", {}));
  EXPECT_FALSE(Match("address:10.0.0.8", {}));
  EXPECT_TRUE(Match("address:0.0.0.0/0", {}));
  EXPECT_FALSE(Match("address:0.0.0.0/0", {.peer = "ipv6:%5B2001:db8::1%5D:1"}));
  EXPECT_TRUE(Match("address:2001:db8::/32", {.peer = "ipv6:%5B2001:db8::1%5D:1"}));
  EXPECT_FALSE(Match("address:2001:db8::/32", {.peer = "ipv6:%5B2001:db9::1%5D:1"}));
  EXPECT_TRUE(Match("address:::/0", {}));
  EXPECT_FALSE(Match("address:::/0", {.peer = "unix:"}));
}

TEST(CallerPatternTest, RefusesWhatNamesNobody) {
  for (const char* text : {"", "ci", "token:", "token:a/b", "cert:", "uid:", "uid:-1", "uid:x",
                           "address:", "address:10.0.0.0/33", "address:10.0.0.0/-1",
                           "address:10.0.0.0/", "address:::/129", "address:host", "Token:x"}) {
    const auto pattern = CallerPattern::Parse(text);
    EXPECT_EQ(pattern.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(pattern.status().message()), HasSubstr("allowed are")) << text;
  }
}

TEST(PolicyFileTest, TheFirstMatchWins) {
  const AccessPolicy policy = PolicyOf(R"(
[anonymous]
roles = ["observe"]

[[client]]
match = "token:ci-evil"
roles = []

[[client]]
match = ["token:ci-*", "cert:*.farm.example"]
roles = ["execute", "tensors"]

[[client]]
match = "address:127.0.0.0/8"
roles = ["admin"]
)");
  EXPECT_TRUE(Has(policy, {.token = "ci-1"}, Role::kExecute));
  EXPECT_TRUE(Has(policy, {.token = "ci-1"}, Role::kTensors));
  EXPECT_FALSE(Has(policy, {.token = "ci-1"}, Role::kAdmin));
  EXPECT_FALSE(Has(policy, {.token = "ci-evil"}, Role::kExecute));
  EXPECT_TRUE(Has(policy, {.certificate = "a.farm.example"}, Role::kExecute));
  EXPECT_TRUE(Has(policy, {.peer = "ipv4:127.0.0.1:1"}, Role::kAdmin));
  EXPECT_FALSE(Has(policy, {.peer = "ipv4:127.0.0.1:1"}, Role::kObserve));
  EXPECT_TRUE(Has(policy, {}, Role::kObserve));
  EXPECT_FALSE(Has(policy, {.token = "other"}, Role::kExecute));
}

TEST(PolicyFileTest, SaysHowMuchAnIdentityMayHave) {
  const AccessPolicy policy = PolicyOf(R"(
[[client]]
match = "token:all"
roles = []
weight = 0.5
max_priority = "low"
max_concurrent_requests = 3
max_queued_bytes = "64MiB"
max_requests_per_second = 0.5
max_bytes_per_second = 1000
max_streams = 7
max_device_ms_per_second = 250
max_resident_bytes = "2GiB"
max_resident_tensors = 0
[[client]]
match = "token:*"
roles = []
[[client]]
match = ["cert:a", "uid:*"]
roles = []
max_connections = 5
max_region_bytes = 4096
max_regions = 3
)");
  const PeerIdentity peer = IdentityOf("ipv4:10.0.0.7:1");
  const auto grant = policy.GrantOf({"", "all", peer});
  EXPECT_EQ(grant->weight, 0.5);
  EXPECT_EQ(grant->most_urgent, 2);
  EXPECT_EQ(grant->share.max_requests, 3u);
  EXPECT_EQ(grant->share.max_bytes, uint64_t{64} << 20);
  EXPECT_EQ(grant->share.requests_per_second, 0.5);
  EXPECT_EQ(grant->share.bytes_per_second, 1000);
  EXPECT_EQ(grant->streams.max_requests, 7u);
  EXPECT_EQ(grant->share.device_ms_per_second, 250);
  EXPECT_EQ(grant->max_resident_bytes, uint64_t{2} << 30);
  EXPECT_EQ(grant->max_resident_tensors, 0u);
  EXPECT_EQ(grant->max_connections, std::nullopt);
  const auto other = policy.GrantOf({"", "other", peer});
  EXPECT_EQ(other->weight, 1);
  EXPECT_EQ(other->most_urgent, 0);
  EXPECT_EQ(other->share.max_requests, UINT64_MAX);
  EXPECT_EQ(other->share.max_bytes, UINT64_MAX);
  EXPECT_FALSE(other->share.has_rates());
  EXPECT_EQ(other->streams.max_requests, UINT64_MAX);
  EXPECT_EQ(other->max_resident_bytes, std::nullopt);
  EXPECT_EQ(other->max_resident_tensors, std::nullopt);
  PeerIdentity user;
  user.transport = PeerTransport::kUnixSocket;
  const auto local = policy.GrantOf({"", "", user});
  EXPECT_EQ(local->max_connections, 5u);
  EXPECT_EQ(local->max_region_bytes, 4096u);
  EXPECT_EQ(local->max_regions, 3u);
}

TEST(PolicyFileTest, LimitsAreNumbersWithinBounds) {
  for (const char* line : {"weight = 0",
                           "weight = \"1\"",
                           "weight = nan",
                           "max_priority = \"urgent\"",
                           "max_priority = 1",
                           "max_concurrent_requests = 0",
                           "max_concurrent_requests = -1",
                           "max_queued_bytes = 1",
                           "max_queued_bytes = \"64MB\"",
                           "max_queued_bytes = \"2000GiB\"",
                           "max_requests_per_second = 0",
                           "max_requests_per_second = inf",
                           "max_bytes_per_second = true",
                           "max_streams = 2000000",
                           "max_device_ms_per_second = 0",
                           "max_resident_bytes = -1",
                           "max_resident_bytes = \"2000GiB\"",
                           "max_resident_tensors = \"9\"",
                           "max_connections = 0",
                           "max_region_bytes = []",
                           "max_regions = 1e9"}) {
    EXPECT_THAT(ErrorOf(std::string("[anonymous]\nroles = []\n") + line),
                ::testing::AllOf(StartsWith("policy.toml:3: "), HasSubstr(" must be ")))
        << line;
  }
  EXPECT_EQ(ErrorOf("[anonymous]\nroles = []\nmax_streams = 2000000"),
            "policy.toml:3: max_streams must be a number from 1 to 1000000, not 2000000");
  EXPECT_THAT(ErrorOf("[anonymous]\nroles = []\nmax_region_bytes = \"64MB\""),
              HasSubstr("or text such as \"64MiB\", not \"64MB\""));
}

TEST(PolicyFileTest, LimitsAreWhereTheyCanBeMet) {
  const auto error = [](const std::string& match, const std::string& key) {
    return ErrorOf("[[client]]\nmatch = " + match + "\nroles = []\n" + key + " = 1");
  };
  for (const char* key : {"max_connections", "max_region_bytes", "max_regions"}) {
    EXPECT_THAT(error("[\"token:*\", \"cert:*\"]", key),
                StartsWith(std::string("policy.toml:4: ") + key + " is of no use here"));
    EXPECT_EQ(error("[\"token:*\", \"uid:7\"]", key), "");
  }
  EXPECT_EQ(error("\"address:10.0.0.0/8\"", "max_connections"), "");
  EXPECT_THAT(error("\"address:10.0.0.0/8\"", "max_regions"),
              HasSubstr("must have a pattern \"uid:"));
}

TEST(PolicyFileTest, HealthAndReflectionAreOpenUnlessClosed) {
  const AccessPolicy open = PolicyOf("");
  EXPECT_TRUE(Has(open, {}, Role::kHealth));
  EXPECT_TRUE(Has(open, {}, Role::kReflection));
  EXPECT_FALSE(Has(open, {}, Role::kObserve));
  const AccessPolicy closed = PolicyOf(R"(
open = ["health"]
[[client]]
match = "token:monitor"
roles = ["observe"]
)");
  EXPECT_TRUE(Has(closed, {}, Role::kHealth));
  EXPECT_FALSE(Has(closed, {}, Role::kReflection));
  EXPECT_TRUE(Has(closed, {.token = "monitor"}, Role::kReflection));
}

TEST(PolicyFileTest, ErrorsNameTheLineAndWhatIsAllowed) {
  EXPECT_THAT(ErrorOf("\n[anonymous"), StartsWith("policy.toml:2: "));
  EXPECT_THAT(
      ErrorOf("\nopne = []"),
      StartsWith("policy.toml:2: unknown key \"opne\"; allowed are open, anonymous, client"));
  EXPECT_THAT(ErrorOf("open = true"),
              StartsWith("policy.toml:1: open must be a list of \"health\""));
  EXPECT_THAT(ErrorOf("open = [\n\"helth\"]"),
              StartsWith("policy.toml:2: unknown value \"helth\""));
  EXPECT_THAT(ErrorOf("anonymous = 1"), HasSubstr("a table"));
  EXPECT_THAT(ErrorOf("[anonymous]\nroles = [\n\"execute\",\n\"root\"]"),
              StartsWith("policy.toml:4: unknown value \"root\" of roles; it must be a list of "
                         "\"execute\", \"tensors\", \"regions\", \"admin\", \"observe\""));
  EXPECT_THAT(ErrorOf("[anonymous]"), HasSubstr("roles is missing"));
  EXPECT_THAT(ErrorOf("[anonymous]\nmatch = \"uid:1\"\nroles = []"),
              StartsWith("policy.toml:2: unknown key \"match\""));
  EXPECT_THAT(ErrorOf("[client]\nroles = []"), HasSubstr("[[client]]"));
  EXPECT_THAT(ErrorOf("client = [1]"), HasSubstr("[[client]]"));
  EXPECT_THAT(ErrorOf("\n[[client]]\nroles = []"), StartsWith("policy.toml:2: match is missing"));
  EXPECT_THAT(ErrorOf("[[client]]\nmatch = 7\nroles = []"),
              StartsWith("policy.toml:2: match must be a string"));
  EXPECT_THAT(ErrorOf("[[client]]\nmatch = \"ci\"\nroles = []"),
              StartsWith("policy.toml:2: \"ci\" names no callers; allowed are"));
  EXPECT_THAT(ErrorOf("[[client]]\nmatch = \"uid:*\"\nroles = \"execute\""),
              StartsWith("policy.toml:3: roles must be a list of"));
}

TEST(PolicyFileTest, ReadsTheExampleOfTheManual) {
  std::ifstream file(std::string(OPSERVE_DOCS_DIR) + "/operations.md");
  const std::string manual((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  const std::string head = "<!-- A test reads the next example. -->\n```toml\n";
  const size_t begin = manual.find(head);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = manual.find("```", begin + head.size());
  const AccessPolicy policy =
      PolicyOf(manual.substr(begin + head.size(), end - begin - head.size()));
  EXPECT_TRUE(Has(policy, {.token = "ci-7"}, Role::kExecute));
  EXPECT_FALSE(Has(policy, {.token = "ci-7"}, Role::kAdmin));
  EXPECT_TRUE(Has(policy, {.certificate = "a.farm.example"}, Role::kTensors));
  EXPECT_FALSE(Has(policy, {.certificate = "stolen.farm.example"}, Role::kTensors));
  EXPECT_TRUE(Has(policy, {.peer = "ipv4:127.0.0.1:1"}, Role::kRegions));
  EXPECT_FALSE(Has(policy, {.peer = "ipv4:192.0.2.1:1"}, Role::kExecute));
}

TEST(PolicyFileTest, ReadsOneMebibyteAndNoMore) {
  const std::string path =
      ::testing::TempDir() + "opserve-policy-size-" + std::to_string(getpid()) + ".toml";
  const auto write = [&](size_t bytes) {
    std::ofstream(path, std::ios::binary) << std::string(bytes, '\n');
  };
  write(kMaxSmallFileBytes);
  EXPECT_TRUE(ReadPolicyFile(path).ok());
  write(kMaxSmallFileBytes + 1);
  const absl::Status status = ReadPolicyFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1048576"));
  std::remove(path.c_str());
  EXPECT_EQ(ReadPolicyFile(path).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace opserve::testing
