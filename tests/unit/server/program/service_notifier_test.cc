// What a service manager hears.

#include "server/program/service_notifier.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/packets/unique_fd.h"

namespace opserve::testing {
namespace {

using ::testing::MatchesRegex;

// The socket of a manager: "@name", without a file.
class FakeManager {
 public:
  FakeManager() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    name_ = "@opserve-test-" + std::to_string(getpid());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  }

  const std::string& name() const { return name_; }
  // The next message, which must be there; empty if it is not.
  std::string Next() {
    char text[200];
    const ssize_t length = recv(fd_.get(), text, sizeof(text), MSG_DONTWAIT);
    return length > 0 ? std::string(text, static_cast<size_t>(length)) : "";
  }

 private:
  UniqueFd fd_;
  std::string name_;
};

TEST(ServiceNotifierTest, TellsEachState) {
  FakeManager manager;
  const ServiceNotifier notifier(manager.name(), std::nullopt);
  notifier.Ready();
  EXPECT_EQ(manager.Next(), "READY=1");
  notifier.Reloading();
  EXPECT_THAT(manager.Next(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+"));
  notifier.Alive();
  EXPECT_EQ(manager.Next(), "WATCHDOG=1");
  notifier.Stopping();
  EXPECT_EQ(manager.Next(), "STOPPING=1");
}

TEST(ServiceNotifierTest, ReadsTheEnvironment) {
  FakeManager manager;
  setenv("NOTIFY_SOCKET", manager.name().c_str(), 1);
  setenv("WATCHDOG_USEC", "1500000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceNotifier::OfEnvironment().watchdog(), std::chrono::milliseconds(1500));
  ServiceNotifier::OfEnvironment().Ready();
  EXPECT_EQ(manager.Next(), "READY=1");
  // For the parent.
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  EXPECT_EQ(ServiceNotifier::OfEnvironment().watchdog(), std::nullopt);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
}

TEST(ServiceNotifierTest, IsSilentWithoutAManager) {
  const ServiceNotifier nobody("", std::chrono::microseconds(1));
  nobody.Ready();
  EXPECT_EQ(nobody.watchdog(), std::nullopt);
  // Neither do these matter.
  ServiceNotifier("/no/such/socket", std::nullopt).Ready();
  ServiceNotifier(std::string(500, 'x'), std::nullopt).Ready();
}

}  // namespace
}  // namespace opserve::testing
