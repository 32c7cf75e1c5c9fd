// What the programs use of Windows, in place of what they use of Linux.

#include <windows.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/cache_size.h"
#include "server/base/file_lock.h"
#include "server/base/file_state.h"
#include "server/base/random_id.h"
#include "server/base/small_file.h"
#include "server/device/cpu/processor_name.h"
#include "server/edge/listen_address.h"
#include "server/edge/listening_socket.h"
#include "server/edge/socket_calls.h"
#include "server/journal/append_file.h"
#include "server/metrics/process_status.h"
#include "server/program/control_event.h"
#include "server/program/ready_file.h"
#include "server/program/stop_signals.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// Waits of these tests end by what they wait for; this is for those that fail.
constexpr int kLimitMs = 60'000;

const ListenAddress kAnyPort = {"127.0.0.1", 0, ""};

class WindowsSystemTest : public ::testing::Test {
 protected:
  WindowsSystemTest() { std::filesystem::create_directories(folder_); }
  ~WindowsSystemTest() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  // Not by std::filesystem, which takes each byte of a name for a character.
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(folder_.string(), "\\", name);
  }

  static std::string ContentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                        absl::StrCat("opserve-windows-", GetCurrentProcessId());
};

TEST_F(WindowsSystemTest, AFileIsReplacedWhereThereIsOne) {
  const std::string path = PathOf("file");
  ASSERT_TRUE(ReplaceFile(path, "old\n").ok());
  ASSERT_TRUE(ReplaceFile(path, "new\n").ok());
  EXPECT_EQ(ContentOf(path), "new\n");
  const auto read = ReadSmallFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "new\n");
}

TEST_F(WindowsSystemTest, AFileThatCannotBeReadOrWrittenIsNamed) {
  const std::string missing = PathOf("missing/file");
  EXPECT_TRUE(absl::IsNotFound(ReadSmallFile(missing).status())) << ReadSmallFile(missing).status();
  const absl::Status written = ReplaceFile(missing, "");
  EXPECT_TRUE(absl::IsNotFound(written)) << written;
  EXPECT_THAT(std::string(written.message()), HasSubstr(missing));
}

TEST_F(WindowsSystemTest, AReadyFileTakesThePlaceOfOneThatWasLeft) {
  const std::string path = PathOf("ready");
  std::ofstream(path) << "of a server that was ended\n";
  {
    const auto ready = ReadyFile::Create(path, {"127.0.0.1:1", "127.0.0.1:2"});
    ASSERT_TRUE(ready.ok()) << ready.status();
    EXPECT_EQ(ContentOf(path), "127.0.0.1:1\n127.0.0.1:2\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(WindowsSystemTest, OneAtATimeHasTheLockOfAFile) {
  const std::string path = PathOf("tokens");
  {
    const auto lock = FileLock::Take(path, std::chrono::milliseconds(0));
    ASSERT_TRUE(lock.ok()) << lock.status();
    const auto second = FileLock::Take(path, std::chrono::milliseconds(0));
    EXPECT_TRUE(absl::IsDeadlineExceeded(second.status())) << second.status();
  }
  EXPECT_TRUE(FileLock::Take(path, std::chrono::milliseconds(0)).ok());
}

TEST_F(WindowsSystemTest, AFileThatWasReplacedIsAnother) {
  const std::string path = PathOf("policy");
  EXPECT_EQ(StateOfFile(path), FileState());
  ASSERT_TRUE(ReplaceFile(path, "one").ok());
  const FileState before = StateOfFile(path);
  EXPECT_EQ(before.bytes, 3);
  EXPECT_EQ(StateOfFile(path), before);
  ASSERT_TRUE(ReplaceFile(path, "two").ok());
  EXPECT_FALSE(StateOfFile(path) == before);
}

TEST_F(WindowsSystemTest, LinesAreAddedAndTheFileCanBeRenamedMeanwhile) {
  const std::string path = PathOf("log");
  std::ofstream(path, std::ios::binary) << "first\n";
  const auto file = AppendFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Write("second\n"), 7);
  std::filesystem::rename(path, PathOf("log.1"));
  EXPECT_EQ(file->Write("third\n"), 6);
  EXPECT_EQ(ContentOf(PathOf("log.1")), "first\nsecond\nthird\n");
  EXPECT_THAT(std::string(AppendFile::Open(PathOf("none/log")).status().message()),
              HasSubstr("cannot open"));
}

TEST_F(WindowsSystemTest, NamesOfFilesAreUtf8) {
  if (GetACP() != CP_UTF8) GTEST_SKIP() << "this system has no UTF-8 for programs";
  // "данные" as UTF-8 and as UTF-16.
  const std::string path = PathOf("\xd0\xb4\xd0\xb0\xd0\xbd\xd0\xbd\xd1\x8b\xd0\xb5");
  ASSERT_TRUE(ReplaceFile(path, "text").ok());
  std::wstring wide(path.size(), L'\0');
  wide.resize(static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, path.data(),
                                                      static_cast<int>(path.size()), wide.data(),
                                                      static_cast<int>(wide.size()))));
  EXPECT_THAT(wide, HasSubstr(L"\x434\x430\x43d\x43d\x44b\x435"));
  EXPECT_NE(GetFileAttributesW(wide.c_str()), INVALID_FILE_ATTRIBUTES);
  EXPECT_EQ(ContentOf(path), "text");
}

TEST_F(WindowsSystemTest, IdsAreRandom) {
  const std::string id = RandomId();
  EXPECT_EQ(id.size(), kRandomIdLength);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  EXPECT_NE(id, RandomId());
}

TEST_F(WindowsSystemTest, TheProcessAndTheProcessorAreKnown) {
  const ProcessStatus status = ReadProcessStatus();
  EXPECT_GT(status.resident_bytes, 1u << 20);
  // Wine counts no handles.
  const bool is_wine = GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != nullptr;
  EXPECT_EQ(status.open_fds > 0, !is_wine);
  EXPECT_GE(status.threads, 1u);
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  EXPECT_LE(status.start_time, now.count() + 1);
  EXPECT_GT(status.start_time, now.count() - 86400);
  EXPECT_NE(ProcessorName(), "");
  // Wine, too, knows the caches, or says that it does not.
  const uint64_t cache = LastLevelCacheBytes();
  EXPECT_TRUE(cache == 0 || cache >= 1u << 20) << cache;
}

TEST_F(WindowsSystemTest, APortHasOneListener) {
  const auto first = ListenAt(kAnyPort);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(first->address.port, 0);
  const auto second = ListenAt(first->address);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("bind: "));
}

TEST_F(WindowsSystemTest, ThereAreNoSocketFiles) {
  EXPECT_THAT(std::string(ParseListenAddress("unix:/tmp/socket").status().message()),
              HasSubstr("is a socket file, which this server does not have on Windows"));
}

TEST_F(WindowsSystemTest, AThreadThatPollsIsWokenAndConnectionsCarryBytes) {
  const auto alarm = PollAlarm::Make();
  ASSERT_TRUE(alarm.ok()) << alarm.status();
  std::vector<pollfd> polled = {Polled(alarm->fd(), false)};
  EXPECT_EQ(WaitForSockets(polled, 0), 0);
  alarm->Ring();
  EXPECT_EQ(WaitForSockets(polled, kLimitMs), 1);

  const auto listening = ListenAt(kAnyPort);
  ASSERT_TRUE(listening.ok()) << listening.status();
  sockaddr_storage from = {};
  EXPECT_FALSE(AcceptNext(listening->sockets[0].get(), from));
  EXPECT_EQ(errno, EAGAIN);
  const UniqueFd client(static_cast<int>(socket(AF_INET, SOCK_STREAM, 0)));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(listening->address.port));
  ASSERT_EQ(connect(static_cast<SOCKET>(client.get()), reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0);
  polled = {Polled(listening->sockets[0].get(), false)};
  ASSERT_EQ(WaitForSockets(polled, kLimitMs), 1);
  const UniqueFd server = AcceptNext(listening->sockets[0].get(), from);
  ASSERT_TRUE(server);
  char bytes[8] = {};
  EXPECT_EQ(ReceiveBytes(server.get(), bytes, sizeof(bytes)), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(SendBytes(client.get(), "text"), 4);
  polled = {Polled(server.get(), false)};
  ASSERT_EQ(WaitForSockets(polled, kLimitMs), 1);
  EXPECT_EQ(ReceiveBytes(server.get(), bytes, sizeof(bytes)), 4);
  EXPECT_EQ(std::string(bytes), "text");
}

TEST_F(WindowsSystemTest, EventsAndTheConsoleStopTheProgramOrReloadItsFiles) {
  const auto set = [](const std::string& name) {
    const HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name.c_str());
    ASSERT_NE(event, nullptr) << name;
    SetEvent(event);
    CloseHandle(event);
  };
  const uint32_t self = GetCurrentProcessId();
  StopSignals signals;
  set(ReloadEventName(self));
  EXPECT_EQ(signals.Wait(), kReloadSignal);
  set(StopEventName(self));
  EXPECT_EQ(signals.Wait(), SIGTERM);
}

}  // namespace
}  // namespace opserve::testing
