#include "server/access/caller.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

std::shared_ptr<const AccessGrant> GrantTo(RoleSet roles, bool is_anonymous) {
  AccessGrant grant;
  grant.roles = roles;
  grant.is_anonymous = is_anonymous;
  return std::make_shared<AccessGrant>(grant);
}

TEST(CallerTest, KeepsWhatIsProvenApartFromTheName) {
  const Caller named("[2001:db8::]/64", "runner-3", FullGrant());
  EXPECT_EQ(named.identity(), "[2001:db8::]/64");
  EXPECT_EQ(named.name(), "runner-3");
  EXPECT_EQ(named.client(), "[2001:db8::]/64/runner-3");
  const Caller unnamed("token:ci", "", FullGrant());
  EXPECT_EQ(unnamed.identity(), "token:ci");
  EXPECT_EQ(unnamed.name(), "");
  EXPECT_EQ(unnamed.client(), "token:ci");
}

TEST(CallerTest, NamesArePrintableAndDivideNothing) {
  EXPECT_TRUE(CheckClientName("runner-3 of *the* night").ok());
  EXPECT_TRUE(CheckClientName(std::string(kMaxClientNameBytes, 'x')).ok());
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("tab\t"), std::string("\x7f"),
        std::string("\xc3\xa4"), std::string(kMaxClientNameBytes + 1, 'x')}) {
    const absl::Status status = CheckClientName(name);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST") << name;
  }
}

TEST(CallerTest, RolesAreWhatWasGranted) {
  const Caller caller("token:ci", "", GrantTo({Role::kExecute}, false));
  EXPECT_TRUE(caller.Check(Role::kExecute).ok());
  const absl::Status status = caller.Check(Role::kAdmin);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReasonOf(status), "ROLE_REQUIRED");
}

TEST(CallerTest, WhoeverProvesNothingIsAskedTo) {
  const Caller caller("10.0.0.7", "", GrantTo({Role::kHealth}, true));
  EXPECT_TRUE(caller.Check(Role::kHealth).ok());
  const absl::Status status = caller.Check(Role::kExecute);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(ReasonOf(status), "CREDENTIALS_REQUIRED");
  EXPECT_EQ(ReasonOf(Caller().Check(Role::kHealth)), "CREDENTIALS_REQUIRED");
}

// Showing it once more would not help.
TEST(CallerTest, WhoeverNoRuleMatchesIsToldSo) {
  for (const std::string identity : {"token:ci", "cert:runner.farm.example"}) {
    const Caller caller(identity, "", GrantTo({Role::kHealth}, true));
    EXPECT_TRUE(caller.Check(Role::kHealth).ok());
    const absl::Status status = caller.Check(Role::kExecute);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(ReasonOf(status), "ROLE_REQUIRED");
    EXPECT_EQ(status.message(), "The call needs the role execute, which " + identity +
                                    " does not have, as no rule of the policy matches it.");
  }
  // A user may have more by a token.
  EXPECT_EQ(ReasonOf(Caller("uid:1000", "", GrantTo({}, true)).Check(Role::kExecute)),
            "CREDENTIALS_REQUIRED");
}

}  // namespace
}  // namespace opserve::testing
