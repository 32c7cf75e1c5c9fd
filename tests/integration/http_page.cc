#include "tests/integration/http_page.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "proto/packets/unique_fd.h"

namespace opserve::testing {

std::string AskHttp(const std::string& address, const std::string& request) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
  to.sin_port = htons(static_cast<uint16_t>(port));
  const UniqueFd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(connection.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  EXPECT_EQ(send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t got = recv(connection.get(), piece.data(), piece.size(), 0);
    EXPECT_GE(got, 0);
    if (got <= 0) return answer;
    answer.append(piece.data(), static_cast<size_t>(got));
  }
}

std::string GetPage(const std::string& address, const std::string& path) {
  std::string answer = AskHttp(address, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  if (!absl::StartsWith(answer, "HTTP/1.1 200 ")) return answer;
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace opserve::testing
