// Who callers are, and files that change while the server runs.

#include "server/access/access_control.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "server/base/small_file.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

constexpr char kAllToLoopback[] =
    "[[client]]\nmatch=\"address:127.0.0.0/8\"\nroles=[\"execute\"]\n";
constexpr char kNothing[] = "[anonymous]\nroles=[]\n";

class AccessControlTest : public ::testing::Test {
 protected:
  AccessControlTest()
      : path_(::testing::TempDir() + "opserve-access-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
              std::to_string(getpid()) + ".toml") {}
  ~AccessControlTest() override { std::remove(path_.c_str()); }

  void Write(const std::string& text) { ASSERT_TRUE(ReplaceFile(path_, text).ok()); }

  AccessOptions PolicyHere() const {
    AccessOptions options;
    options.policy_file = path_;
    return options;
  }

  std::unique_ptr<AccessControl> Load(const AccessOptions& options) {
    auto control = AccessControl::Load(options, logger_);
    EXPECT_TRUE(control.ok()) << control.status();
    return *std::move(control);
  }

  static CallProof ProofFrom(const std::string& peer) {
    CallProof proof;
    proof.peer = IdentityOf(peer);
    return proof;
  }

  static bool MayExecute(const AccessControl& control) {
    const auto caller = control.Identify(ProofFrom("ipv4:127.0.0.1:1"));
    return caller.ok() && caller->Check(Role::kExecute).ok();
  }

  const std::string path_;
  Logger logger_{LogFormat::kText, LogLevel::kOff};
};

TEST_F(AccessControlTest, CallersAreKnownByAddressAndName) {
  const auto control = Load({});
  CallProof proof = ProofFrom("ipv4:127.0.0.1:1");
  proof.name = "runner-3";
  proof.has_name = true;
  const auto caller = control->Identify(proof);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->identity(), "127.0.0.1");
  EXPECT_EQ(caller->name(), "runner-3");
  EXPECT_TRUE(caller->Check(Role::kAdmin).ok());
}

TEST_F(AccessControlTest, BadNamesAndDoubtfulProofsAreRefused) {
  const auto control = Load({});
  CallProof proof = ProofFrom("ipv4:127.0.0.1:1");
  proof.name = "a/b";
  proof.has_name = true;
  EXPECT_EQ(ReasonOf(control->Identify(proof).status()), "INVALID_REQUEST");
  proof.name = "";
  EXPECT_EQ(ReasonOf(control->Identify(proof).status()), "INVALID_REQUEST");
  proof = ProofFrom("ipv4:127.0.0.1:1");
  proof.is_ambiguous = true;
  EXPECT_EQ(ReasonOf(control->Identify(proof).status()), "CREDENTIALS_INVALID");
  proof = ProofFrom("ipv4:127.0.0.1:1");
  proof.has_authorization = true;
  proof.authorization = "Bearer x";
  EXPECT_EQ(ReasonOf(control->Identify(proof).status()), "CREDENTIALS_INVALID");
}

TEST_F(AccessControlTest, CertificatesAreStrongerThanAddresses) {
  const auto control = Load({});
  CallProof proof = ProofFrom("ipv4:10.0.0.7:1");
  proof.certificate = "node-1";
  proof.has_certificate = true;
  const auto caller = control->Identify(proof);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->identity(), "cert:node-1");
  // A name with a slash could be that of another with a name of its own.
  for (const char* name : {"", "node/1", "node\n1"}) {
    proof.certificate = name;
    EXPECT_EQ(ReasonOf(control->Identify(proof).status()), "CREDENTIALS_INVALID") << name;
  }
}

TEST_F(AccessControlTest, WithoutAPolicyThisMachineAndProvenCallersMayDoAll) {
  const auto control = Load({});
  const auto has = [&](const CallProof& proof, Role role) {
    return control->Identify(proof)->Check(role).ok();
  };
  for (const char* peer : {"ipv4:127.0.0.1:1", "ipv6:%5B::1%5D:1", "unix:"}) {
    EXPECT_TRUE(has(ProofFrom(peer), Role::kAdmin)) << peer;
  }
  CallProof proven = ProofFrom("ipv4:10.0.0.7:1");
  proven.certificate = "ci";
  proven.has_certificate = true;
  EXPECT_TRUE(has(proven, Role::kAdmin));
  for (const char* peer : {"ipv4:10.0.0.7:1", "fd:77777"}) {
    EXPECT_FALSE(has(ProofFrom(peer), Role::kExecute)) << peer;
    EXPECT_TRUE(has(ProofFrom(peer), Role::kHealth)) << peer;
    EXPECT_TRUE(has(ProofFrom(peer), Role::kReflection)) << peer;
  }
}

TEST_F(AccessControlTest, StrangersMayUseTheServerWhereThatIsSaid) {
  const CallProof proof = ProofFrom("ipv4:10.0.0.7:1");
  EXPECT_EQ(ReasonOf(Load({})->Identify(proof)->Check(Role::kExecute)), "CREDENTIALS_REQUIRED");
  AccessOptions options;
  options.allow_anonymous = true;
  const auto open = Load(options);
  EXPECT_TRUE(open->Identify(proof)->Check(Role::kExecute).ok());
  EXPECT_EQ(ReasonOf(open->Identify(proof)->Check(Role::kAdmin)), "CREDENTIALS_REQUIRED");
}

TEST_F(AccessControlTest, TheUserOfASocketFileIsKnownWhateverElseHeShows) {
  const auto control = Load({});
  CallProof proof;
  proof.peer = PeerOfUser(1000);
  EXPECT_EQ(control->Identify(proof)->user(), std::optional<uid_t>(1000));
  proof.certificate = "node-1";
  proof.has_certificate = true;
  EXPECT_EQ(control->Identify(proof)->identity(), "cert:node-1");
  EXPECT_EQ(control->Identify(proof)->user(), std::optional<uid_t>(1000));
  for (const char* peer : {"ipv4:127.0.0.1:1", "unix:"}) {
    EXPECT_EQ(control->Identify(ProofFrom(peer))->user(), std::nullopt) << peer;
  }
}

TEST_F(AccessControlTest, UsersNeedTheRoleToShareMemory) {
  EXPECT_TRUE(Load({})->CheckUser(1000, Role::kRegions).ok());
  Write("[[client]]\nmatch=\"uid:1000\"\nroles=[\"regions\"]\n");
  const auto control = Load(PolicyHere());
  EXPECT_TRUE(control->CheckUser(1000, Role::kRegions).ok());
  EXPECT_FALSE(control->CheckUser(1001, Role::kRegions).ok());
}

TEST_F(AccessControlTest, ReadsThePolicyWhenItChanges) {
  Write(kAllToLoopback);
  const auto control = Load(PolicyHere());
  EXPECT_TRUE(MayExecute(*control));
  const auto before = control->Identify(ProofFrom("ipv4:127.0.0.1:1"));
  Write(kNothing);
  EXPECT_TRUE(MayExecute(*control));
  control->ReadChanged();
  EXPECT_FALSE(MayExecute(*control));
  // A call under way keeps what it was granted.
  EXPECT_TRUE(before->Check(Role::kExecute).ok());
}

TEST_F(AccessControlTest, ABrokenPolicyChangesNothing) {
  Write(kAllToLoopback);
  const auto control = Load(PolicyHere());
  for (const char* broken : {"[anonymous", "rules = 1", ""}) {
    Write(kAllToLoopback);
    ASSERT_TRUE(control->Reload().ok());
    if (broken[0] != '\0') {
      Write(broken);
    } else {
      std::remove(path_.c_str());
    }
    control->ReadChanged();
    EXPECT_TRUE(MayExecute(*control)) << broken;
    EXPECT_FALSE(control->Reload().ok());
    EXPECT_TRUE(MayExecute(*control)) << broken;
  }
}

TEST_F(AccessControlTest, DoesNotStartWithABrokenPolicy) {
  EXPECT_FALSE(AccessControl::Load(PolicyHere(), logger_).ok());
  Write("rules = 1");
  const auto control = AccessControl::Load(PolicyHere(), logger_);
  EXPECT_EQ(control.status().code(), absl::StatusCode::kInvalidArgument);
}

class TokenAccessTest : public AccessControlTest {
 protected:
  // Writes a file with a token that is good for ever, and one that is not.
  TokenAccessTest() {
    EXPECT_TRUE(list_.Add("ci", good_, absl::InfiniteFuture()).ok());
    EXPECT_TRUE(list_.Add("old", old_, absl::UnixEpoch() + absl::Hours(1)).ok());
    EXPECT_TRUE(ReplaceFile(path_, list_.ToText()).ok());
  }

  static absl::Time AtEpoch() { return absl::UnixEpoch(); }
  static absl::Time AnHourLater() { return absl::UnixEpoch() + absl::Hours(1); }

  std::unique_ptr<AccessControl> LoadTokens(bool is_tls, absl::Time (*now)() = &AtEpoch) {
    AccessOptions options;
    options.tokens_file = path_;
    options.is_tls = is_tls;
    auto control = AccessControl::Load(options, logger_, now);
    EXPECT_TRUE(control.ok()) << control.status();
    return *std::move(control);
  }

  // The views of the proof are those of `authorization`.
  static CallProof ProofWith(const std::string& peer, const std::string& authorization) {
    CallProof proof = ProofFrom(peer);
    proof.authorization = authorization;
    proof.has_authorization = true;
    return proof;
  }

  static absl::StatusOr<Caller> Show(const AccessControl& control, const std::string& peer,
                                     const std::string& authorization) {
    return control.Identify(ProofWith(peer, authorization));
  }

  const std::string good_ = MakeToken();
  const std::string old_ = MakeToken();
  TokenList list_;
};

TEST_F(TokenAccessTest, ATokenIsAnIdentity) {
  const auto control = LoadTokens(true);
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER "}) {
    const auto caller = Show(*control, "ipv4:10.0.0.7:1", scheme + good_);
    ASSERT_TRUE(caller.ok()) << caller.status();
    EXPECT_EQ(caller->identity(), "token:ci");
    EXPECT_TRUE(caller->Check(Role::kAdmin).ok());
  }
}

TEST_F(TokenAccessTest, WhatIsNoTokenIsRefusedAlsoWhereNoneIsNeeded) {
  const auto control = LoadTokens(true);
  for (const std::string& text :
       {std::string(), std::string("Bearer"), std::string("Bearer "), good_, "Basic " + good_,
        "Bearer " + MakeToken(), "Bearer  " + good_, "Bearer " + good_ + " "}) {
    const auto caller = Show(*control, "ipv4:127.0.0.1:1", text);
    EXPECT_EQ(ReasonOf(caller.status()), "CREDENTIALS_INVALID") << text;
    EXPECT_EQ(std::string(caller.status().message()).find("opserve_"), std::string::npos);
  }
}

TEST_F(TokenAccessTest, TokensExpire) {
  EXPECT_TRUE(Show(*LoadTokens(true), "ipv4:10.0.0.7:1", "Bearer " + old_).ok());
  const auto later = LoadTokens(true, &AnHourLater);
  EXPECT_EQ(ReasonOf(Show(*later, "ipv4:10.0.0.7:1", "Bearer " + old_).status()),
            "CREDENTIALS_INVALID");
  EXPECT_TRUE(Show(*later, "ipv4:10.0.0.7:1", "Bearer " + good_).ok());
}

TEST_F(TokenAccessTest, TokensAreRevokedWhenTheFileChanges) {
  const auto control = LoadTokens(true);
  ASSERT_TRUE(list_.Remove("ci"));
  Write(list_.ToText());
  EXPECT_TRUE(Show(*control, "ipv4:10.0.0.7:1", "Bearer " + good_).ok());
  control->ReadChanged();
  EXPECT_EQ(ReasonOf(Show(*control, "ipv4:10.0.0.7:1", "Bearer " + good_).status()),
            "CREDENTIALS_INVALID");
  // A broken file changes nothing.
  Write("ci");
  control->ReadChanged();
  EXPECT_TRUE(Show(*control, "ipv4:10.0.0.7:1", "Bearer " + old_).ok());
}

TEST_F(TokenAccessTest, WhoShowsTheSameAgainIsKnown) {
  const auto control = LoadTokens(true);
  const std::string good = "Bearer " + good_;
  const std::string old = "Bearer " + old_;
  CallProof proof = ProofWith("ipv4:10.0.0.7:1", good);
  std::shared_ptr<const KnownCaller> known;
  EXPECT_EQ(control->Identify(proof, known)->client(), "token:ci");
  const std::shared_ptr<const KnownCaller> first = known;
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(control->Identify(proof, known)->client(), "token:ci");
  EXPECT_EQ(known, first);

  proof.name = "runner-3";
  proof.has_name = true;
  EXPECT_EQ(control->Identify(proof, known)->client(), "token:ci/runner-3");
  EXPECT_NE(known, first);
  EXPECT_EQ(control->Identify(ProofWith("ipv4:10.0.0.7:1", old), known)->client(), "token:old");
  EXPECT_EQ(control->Identify(ProofWith("ipv4:10.0.0.7:1", good), known)->client(), "token:ci");
}

TEST_F(TokenAccessTest, LongTokensAreNotKept) {
  const auto fitting = [](size_t bytes) {
    return std::string(bytes - std::string("Bearer ").size(), 'x');
  };
  const std::string kept = fitting(KnownCaller::kMostKeptBytes);
  const std::string longer = fitting(KnownCaller::kMostKeptBytes + 1);
  ASSERT_TRUE(list_.Add("kept", kept, absl::InfiniteFuture()).ok());
  ASSERT_TRUE(list_.Add("longer", longer, absl::InfiniteFuture()).ok());
  Write(list_.ToText());
  const auto control = LoadTokens(true);
  std::shared_ptr<const KnownCaller> known;
  for (const std::string& token : {good_, kept}) {
    const std::string shown = "Bearer " + token;
    EXPECT_TRUE(control->Identify(ProofWith("ipv4:10.0.0.7:1", shown), known).ok());
    EXPECT_NE(known, nullptr);
  }
  const std::string shown = "Bearer " + longer;
  EXPECT_EQ(control->Identify(ProofWith("ipv4:10.0.0.7:1", shown), known)->client(),
            "token:longer");
  EXPECT_EQ(known, nullptr);
}

TEST_F(TokenAccessTest, WhoIsKnownStillHasToShowIt) {
  const auto control = LoadTokens(true);
  const std::string good = "Bearer " + good_;
  CallProof proof = ProofWith("ipv4:10.0.0.7:1", good);
  std::shared_ptr<const KnownCaller> known;
  ASSERT_TRUE(control->Identify(proof, known).ok());
  const std::shared_ptr<const KnownCaller> first = known;
  proof.is_ambiguous = true;
  EXPECT_EQ(ReasonOf(control->Identify(proof, known).status()), "CREDENTIALS_INVALID");
  proof.is_ambiguous = false;
  proof.has_name = true;
  EXPECT_EQ(ReasonOf(control->Identify(proof, known).status()), "INVALID_REQUEST");
  const std::string wrong = "Bearer " + MakeToken();
  EXPECT_EQ(ReasonOf(control->Identify(ProofWith("ipv4:10.0.0.7:1", wrong), known).status()),
            "CREDENTIALS_INVALID");
  EXPECT_EQ(known, first);
}

TEST_F(TokenAccessTest, WhoIsKnownByATokenThatWasRevokedIsNot) {
  const auto control = LoadTokens(true);
  const std::string good = "Bearer " + good_;
  const CallProof proof = ProofWith("ipv4:10.0.0.7:1", good);
  std::shared_ptr<const KnownCaller> known;
  ASSERT_TRUE(control->Identify(proof, known).ok());
  ASSERT_TRUE(list_.Remove("ci"));
  Write(list_.ToText());
  control->ReadChanged();
  EXPECT_EQ(ReasonOf(control->Identify(proof, known).status()), "CREDENTIALS_INVALID");
}

TEST_F(TokenAccessTest, WhoIsKnownGetsWhatALaterPolicyGrants) {
  const std::string policy = path_ + ".policy";
  ASSERT_TRUE(ReplaceFile(policy, "[[client]]\nmatch=\"token:ci\"\nroles=[\"execute\"]\n").ok());
  AccessOptions options = PolicyHere();
  options.tokens_file = path_;
  options.policy_file = policy;
  const auto control = Load(options);
  const std::string good = "Bearer " + good_;
  const CallProof proof = ProofWith("ipv4:127.0.0.1:1", good);
  std::shared_ptr<const KnownCaller> known;
  EXPECT_TRUE(control->Identify(proof, known)->Check(Role::kExecute).ok());
  ASSERT_TRUE(ReplaceFile(policy, kNothing).ok());
  control->ReadChanged();
  EXPECT_FALSE(control->Identify(proof, known)->Check(Role::kExecute).ok());
  std::remove(policy.c_str());
}

TEST_F(TokenAccessTest, WhoIsKnownByATokenIsNotOnceItHasExpired) {
  static absl::Time now;
  now = absl::UnixEpoch();
  const auto control = LoadTokens(true, [] { return now; });
  const std::string old = "Bearer " + old_;
  const CallProof proof = ProofWith("ipv4:10.0.0.7:1", old);
  std::shared_ptr<const KnownCaller> known;
  EXPECT_TRUE(control->Identify(proof, known).ok());
  EXPECT_TRUE(control->Identify(proof, known).ok());
  now += absl::Hours(1);
  EXPECT_EQ(ReasonOf(control->Identify(proof, known).status()), "CREDENTIALS_INVALID");
}

TEST_F(TokenAccessTest, PlainTextFromOtherMachinesIsNotTaken) {
  const auto control = LoadTokens(false);
  EXPECT_EQ(ReasonOf(Show(*control, "ipv4:10.0.0.7:1", "Bearer " + good_).status()),
            "TOKEN_IN_PLAIN_TEXT");
  EXPECT_EQ(ReasonOf(Show(*control, "fd:77777", "Bearer " + good_).status()),
            "TOKEN_IN_PLAIN_TEXT");
  EXPECT_TRUE(Show(*control, "ipv4:127.0.0.1:1", "Bearer " + good_).ok());
  EXPECT_TRUE(Show(*control, "unix:", "Bearer " + good_).ok());
}

TEST_F(AccessControlTest, FilesAreForTheirOwnerAlone) {
  Write("secret");
  struct stat file = {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace opserve::testing
