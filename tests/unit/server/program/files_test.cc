// Addresses and the ready file.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/edge/listen_address.h"
#include "server/edge/stale_socket.h"
#include "server/program/ready_file.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// A folder of its own for each test, gone afterwards.
class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }
  std::string File(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

TEST(ListenAddressTest, ReadsWhatItWrites) {
  for (const std::string text : {"127.0.0.1:50051", "localhost:0", "[::1]:65535", "0.0.0.0:1",
                                 "unix:/run/opserve.sock", "unix:relative.sock"}) {
    const auto address = ParseListenAddress(text);
    ASSERT_TRUE(address.ok()) << text << ": " << address.status();
    EXPECT_EQ(address->ToString(), text);
    EXPECT_EQ(address->is_unix(), text[0] == 'u');
  }
}

TEST(ListenAddressTest, TellsWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "no port"},
      {"localhost", "no port"},
      {":50051", "no host"},
      {"localhost:", "between 0 and 65535"},
      {"localhost:65536", "between 0 and 65535"},
      {"localhost:-1", "between 0 and 65535"},
      {"localhost:http", "between 0 and 65535"},
      {"::1:50051", "without brackets"},
      {"unix:", "no socket file"},
      {"unix:/" + std::string(107, 'x'), "longer than"},
  };
  for (const auto& [text, why] : cases) {
    const auto address = ParseListenAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(address.status().message()), HasSubstr(why));
  }
}

TEST_F(FilesTest, RemovesOnlySocketsThatNobodyAnswers) {
  EXPECT_TRUE(RemoveStaleSocket(File("absent")).ok());

  std::ofstream(File("file")) << "text";
  EXPECT_EQ(RemoveStaleSocket(File("file")).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Contents(File("file")), "text");

  const std::string path = File("socket");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(RemoveStaleSocket(path).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(path));
  close(listener);
  EXPECT_TRUE(RemoveStaleSocket(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(FilesTest, ReadyFilesLiveAsLongAsTheirObject) {
  const std::string path = File("ready");
  {
    auto created = ReadyFile::Create(path, {"127.0.0.1:1", "unix:/x"});
    ASSERT_TRUE(created.ok());
    EXPECT_EQ(Contents(path), "127.0.0.1:1\nunix:/x\n");
    const ReadyFile moved = *std::move(created);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(FilesTest, ReadyFilesReportWhatTheSystemSays) {
  const auto created = ReadyFile::Create(File("absent/ready"), {"127.0.0.1:1"});
  EXPECT_EQ(created.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(created.status().message()), HasSubstr("absent/ready"));
}

TEST_F(FilesTest, ReadyFilesTakeThePlaceOfNothingElse) {
  const std::string file = File("file");
  std::ofstream(file) << "old\n";
  const std::string link = File("link");
  std::filesystem::create_symlink(file, link);
  const std::string pipe = File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {link, pipe, folder_.string()}) {
    const auto created = ReadyFile::Create(path, {"127.0.0.1:1"});
    EXPECT_EQ(created.status().message(), path + " exists and is no regular file");
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(Contents(file), "old\n");
  EXPECT_TRUE(ReadyFile::Create(file, {"127.0.0.1:1"}).ok());
}

}  // namespace
}  // namespace opserve::testing
