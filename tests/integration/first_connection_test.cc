// The first connection of a process, made while Abseil looks at the system for the first time.

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <string>

#include "absl/base/internal/sysinfo.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "opserve/client.h"
#include "proto/packets/unique_fd.h"

// The program's symbols come before those of its libraries, so gRPC calls this, between connect()
// and its look at errno. Somebody else wants the same lock of Abseil just then.
extern "C" __attribute__((visibility("default"))) int epoll_ctl(int poller, int operation, int fd,
                                                                epoll_event* event) {
  const auto result = static_cast<int>(syscall(SYS_epoll_ctl, poller, operation, fd, event));
  const bool is_connection = operation == EPOLL_CTL_ADD && (event->events & EPOLLOUT) != 0;
  if (is_connection) static_cast<void>(absl::base_internal::NominalCPUFrequency());
  return result;
}

namespace opserve::testing {
namespace {

TEST(FirstConnectionTest, DoesNotFailWhereAbseilReadsFiles) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), any, length), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), any, &length), 0);
  auto client = std::async(std::launch::async, [port = ntohs(address.sin_port)] {
    return Client::Connect(absl::StrCat("127.0.0.1:", port)).status();
  });
  UniqueFd connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  // How each client of HTTP/2 begins. gRPC gives a connection up that it takes for broken.
  std::string preface(3, '\0');
  recv(connection.get(), preface.data(), preface.size(), MSG_WAITALL);
  EXPECT_EQ(preface, "PRI");
  listener = {};
  connection = {};
  EXPECT_FALSE(client.get().ok());
}

}  // namespace
}  // namespace opserve::testing
