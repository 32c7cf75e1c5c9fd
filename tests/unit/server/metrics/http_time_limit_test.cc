// How long the operator's HTTP server has patience with a connection.

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/edge/stale_socket.h"
#include "server/metrics/http_listener.h"

namespace opserve {
namespace {

// Long enough for a busy machine to send and read a few lines.
constexpr std::chrono::milliseconds kLimit{2000};

std::unique_ptr<HttpListener> ListenFor(const std::string& name,
                                        std::chrono::milliseconds time_limit) {
  ListenAddress address;
  address.unix_path = absl::StrCat(testing::TempDir(), name, ".", getpid());
  auto listener = HttpListener::Start(address, {.time_limit = time_limit}, [](const HttpRequest&) {
    return HttpAnswer{.body = "answered"};
  });
  EXPECT_TRUE(listener.ok()) << listener.status();
  return *std::move(listener);
}

// A connection to a listener.
class HttpVisitor {
 public:
  explicit HttpVisitor(const HttpListener& listener)
      : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = UnixAddress(listener.address().unix_path);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }

  void Send(const std::string& text) const {
    // Where the connection is gone, there is no answer either.
    static_cast<void>(send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL));
  }

  // All that comes until the listener ends the connection.
  std::string ReadAll() const {
    std::string all;
    std::array<char, 1024> piece;
    ssize_t got = 0;
    while ((got = recv(socket_.get(), piece.data(), piece.size(), 0)) > 0) {
      all.append(piece.data(), static_cast<size_t>(got));
    }
    return all;
  }

 private:
  const UniqueFd socket_;
};

TEST(HttpTimeLimit, BeginsWithTheConnectionHoweverLongNobodyCame) {
  const auto idle = ListenFor("idle", kLimit);
  {
    // Once it has answered, the listener waits.
    const HttpVisitor first(*idle);
    first.Send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(absl::EndsWith(first.ReadAll(), "answered"));
  }
  // Another listener ends what says nothing after more than the limit of the first one.
  const auto other = ListenFor("other", kLimit + kLimit / 10);
  EXPECT_EQ(HttpVisitor(*other).ReadAll(), "");

  const HttpVisitor slow(*idle);
  slow.Send("GET / HTTP/1.1\r\n");
  // The listener comes round twice while these are answered.
  for (int i = 0; i < 2; ++i) {
    const HttpVisitor quick(*idle);
    quick.Send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(absl::EndsWith(quick.ReadAll(), "answered"));
  }
  slow.Send("\r\n");
  EXPECT_TRUE(absl::EndsWith(slow.ReadAll(), "answered"));
}

}  // namespace
}  // namespace opserve
