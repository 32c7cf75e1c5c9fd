// POSIX shared memory by name: which names there are, and who may use which segment.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/regions/posix_segment.h"
#include "server/regions/region.h"
#include "tests/testing/test_segment.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

constexpr uint64_t kPageBytes = 4096;

// This process, and one that has nothing to do with it and is not root.
Peer Self() { return {geteuid(), {getegid()}}; }
Peer Stranger() { return {geteuid() + 1, {}}; }

std::string FileOf(const std::string& name) { return kSegmentFolder + name; }

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(SegmentNameTest, TakesNamesOfShmOpen) {
  for (const std::string& name :
       {std::string("/a"), std::string("/in put.0~"), "/" + std::string(254, 'x')}) {
    EXPECT_TRUE(CheckSegmentName(name).ok()) << name;
  }
}

TEST(SegmentNameTest, RefusesEverythingElse) {
  const std::string names[] = {"",
                               "/",
                               "a",
                               "ab",
                               "//a",
                               "/a/",
                               "/../etc/passwd",
                               "/a\n",
                               "/\x7f",
                               std::string("/a\0b", 4),
                               "/\xc3\xa4",
                               "/" + std::string(255, 'x')};
  for (const std::string& name : names) {
    const absl::Status status = CheckSegmentName(name);
    EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST") << name;
    EXPECT_THAT(MessageOf(status), StartsWith("register.name: The name \"")) << name;
    EXPECT_THAT(MessageOf(status), HasSubstr("a '/' and 1 to 254 further printable")) << name;
    EXPECT_EQ(OpenSegment(name, Self()).status(), status) << name;
  }
  EXPECT_THAT(MessageOf(CheckSegmentName("/a\n")), HasSubstr("\"/a\\n\" of 3 bytes"));
}

TEST(MayReadAndWriteTest, FollowsTheModeAsTheKernelDoes) {
  const Peer root{0, {0}};
  const Peer owner{1000, {100}};
  const Peer member{1001, {7, 200}};
  const Peer other{1002, {100}};
  struct Case {
    mode_t mode;
    bool owner, member, other;
  };
  const Case cases[] = {
      {0600, true, false, false},  {0660, true, true, false},   {0666, true, true, true},
      {0400, false, false, false}, {0200, false, false, false}, {0644, true, false, false},
      {0622, true, false, false},  {0060, false, true, false},  {0006, false, false, true},
      {0606, true, false, true},   {0000, false, false, false}, {0111, false, false, false},
  };
  for (const Case& c : cases) {
    struct stat file = {};
    file.st_uid = 1000;
    file.st_gid = 200;
    file.st_mode = S_IFREG | c.mode;
    EXPECT_TRUE(MayReadAndWrite(root, file)) << c.mode;
    EXPECT_EQ(MayReadAndWrite(owner, file), c.owner) << c.mode;
    EXPECT_EQ(MayReadAndWrite(member, file), c.member) << c.mode;
    EXPECT_EQ(MayReadAndWrite(other, file), c.other) << c.mode;
  }
}

TEST(PeerTest, IsTheProcessThatConnected) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd first(ends[0]);
  const UniqueFd second(ends[1]);
  std::vector<gid_t> groups(getgroups(0, nullptr));
  ASSERT_EQ(getgroups(static_cast<int>(groups.size()), groups.data()),
            static_cast<int>(groups.size()));
  groups.push_back(getegid());
  const std::optional<Peer> peer = PeerOf(first);
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->user, geteuid());
  EXPECT_THAT(peer->groups, UnorderedElementsAreArray(groups));
}

TEST(PeerTest, IsUnknownWithoutASocket) {
  EXPECT_FALSE(PeerOf(MakeMemfd(1)));
  EXPECT_FALSE(PeerOf(UniqueFd()));
}

TEST(OpenSegmentTest, OpensForWhoMayUseIt) {
  const TestSegment own(100);
  const auto fd = OpenSegment(own.name(), Self());
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_NE(fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
  const TestSegment open_to_all(100, 0666);
  EXPECT_TRUE(OpenSegment(open_to_all.name(), Stranger()).ok());
}

// Also where this process may do everything.
TEST(OpenSegmentTest, DoesNotTellStrangersWhatThereIs) {
  const std::string name = NewSegmentName();
  const absl::Status missing = OpenSegment(name, Stranger()).status();
  EXPECT_EQ(ReasonOf(missing), "INVALID_REQUEST");
  EXPECT_THAT(MessageOf(missing), StartsWith("register.name: There is no segment \"" + name));
  for (const mode_t mode : {0600, 0644, 0662}) {
    const TestSegment segment(100, mode, name);
    EXPECT_EQ(OpenSegment(name, Stranger()).status(), missing) << mode;
    EXPECT_TRUE(OpenSegment(name, Self()).ok()) << mode;
  }
}

TEST(OpenSegmentTest, RefusesWhatIsNoSegment) {
  const TestSegment segment(100);
  const std::string name = NewSegmentName();
  const absl::Status missing = OpenSegment(name, Self()).status();
  ASSERT_EQ(symlink(FileOf(segment.name()).c_str(), FileOf(name).c_str()), 0);
  EXPECT_EQ(OpenSegment(name, Self()).status(), missing);
  std::filesystem::remove(FileOf(name));
  ASSERT_EQ(mkfifo(FileOf(name).c_str(), 0600), 0);
  EXPECT_EQ(OpenSegment(name, Self()).status(), missing);
  std::filesystem::remove(FileOf(name));
  ASSERT_EQ(mkdir(FileOf(name).c_str(), 0700), 0);
  EXPECT_EQ(OpenSegment(name, Self()).status(), missing);
  std::filesystem::remove(FileOf(name));
  EXPECT_FALSE(OpenSegment("/..", Self()).ok());
}

// A lease would otherwise keep the server waiting for its holder.
TEST(OpenSegmentTest, WaitsForNobody) {
  const TestSegment segment(100);
  const auto previous = std::signal(SIGIO, SIG_IGN);
  ASSERT_EQ(fcntl(segment.memory().fd().get(), F_SETLEASE, F_WRLCK), 0);
  EXPECT_FALSE(OpenSegment(segment.name(), Self()).ok());
  ASSERT_EQ(fcntl(segment.memory().fd().get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_TRUE(OpenSegment(segment.name(), Self()).ok());
  std::signal(SIGIO, previous);
}

// An access list can deny somebody what the mode grants.
TEST(OpenSegmentTest, RefusesAccessLists) {
  struct Entry {
    uint16_t tag, permissions;
    uint32_t id;
  };
  struct {
    uint32_t version = 2;
    Entry entries[5] = {{1, 6, ~0u}, {2, 0, 12345}, {4, 6, ~0u}, {16, 6, ~0u}, {32, 6, ~0u}};
  } list;
  const TestSegment segment(100, 0666);
  ASSERT_TRUE(OpenSegment(segment.name(), Stranger()).ok());
  if (fsetxattr(segment.memory().fd().get(), "system.posix_acl_access", &list, sizeof(list), 0) !=
      0) {
    GTEST_SKIP() << "no access lists here";
  }
  EXPECT_FALSE(OpenSegment(segment.name(), Stranger()).ok());
}

TEST(SegmentRegionTest, SharesBytesUntilItIsCutOff) {
  const TestSegment segment(2 * kPageBytes);
  segment.memory().data()[kPageBytes] = std::byte{7};
  const auto region = Region::Map(segment.memory().fd(), 2 * kPageBytes, RegionMemory::kSegment);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ(*(*region)->At(kPageBytes, 1), std::byte{7});
  segment.Resize(0);
  EXPECT_EQ(*(*region)->At(kPageBytes, 1), std::byte{0});
  std::memset((*region)->At(0, 2 * kPageBytes), 1, 2 * kPageBytes);
  EXPECT_EQ(*(*region)->At(0, 1), std::byte{1});
}

TEST(SegmentRegionTest, HasTheSizeThatItHasNow) {
  const TestSegment segment(kPageBytes);
  segment.Resize(100);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{101}, kPageBytes}) {
    const auto region = Region::Map(segment.memory().fd(), bytes, RegionMemory::kSegment);
    EXPECT_EQ(ReasonOf(region.status()), "INVALID_REQUEST") << bytes;
  }
  EXPECT_TRUE(Region::Map(segment.memory().fd(), 100, RegionMemory::kSegment).ok());
}

// Other protocols have other names for them.
TEST(SegmentRegionTest, ErrorsAreAboutTheFieldsOfTheRequest) {
  EXPECT_THAT(MessageOf(OpenSegment("none", Self(), "key").status()), StartsWith("key: The name"));
  EXPECT_THAT(MessageOf(OpenSegment(NewSegmentName(), Self(), "key").status()),
              StartsWith("key: There is no segment"));
  const TestSegment segment(100);
  const auto region = Region::Map(segment.memory().fd(), 101, RegionMemory::kSegment,
                                  {.memory = "key", .bytes = "byte_size"});
  EXPECT_THAT(MessageOf(region.status()), StartsWith("byte_size: The number of bytes (101)"));
  const auto memfd = Region::Map(segment.memory().fd(), 100, RegionMemory::kMemfd,
                                 {.memory = "key", .bytes = "byte_size"});
  EXPECT_THAT(MessageOf(memfd.status()), StartsWith("key: The descriptor cannot be shared"));
}

}  // namespace
}  // namespace opserve::testing
