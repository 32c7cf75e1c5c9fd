// Requests of the operator's HTTP pages, as text.

#include "server/metrics/http_listener.h"

#include <new>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

HttpAnswer Echo(absl::string_view path) { return {.body = absl::StrCat("you asked for ", path)}; }

std::string LineOf(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

TEST(AnswerHttp, GivesThePathWithoutItsQueryToTheHandler) {
  const std::string answer = AnswerHttp("GET /metrics?name=x HTTP/1.1\r\nHost: h\r\n\r\n", Echo);
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Length: 22\r\n")) << answer;
  EXPECT_TRUE(absl::StrContains(answer, "\r\nConnection: close\r\n"));
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\nyou asked for /metrics"));
}

TEST(AnswerHttp, AnswersHeadWithoutTheBody) {
  const std::string answer = AnswerHttp("HEAD / HTTP/1.0\r\n\r\n", Echo);
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Length: 15\r\n")) << answer;
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\n"));
}

TEST(AnswerHttp, TakesNoOtherMethod) {
  for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    const std::string answer = AnswerHttp(absl::StrCat(method, " / HTTP/1.1\r\n\r\n"), Echo);
    EXPECT_EQ(LineOf(answer), "HTTP/1.1 405 Method Not Allowed");
    EXPECT_TRUE(absl::StrContains(answer, "\r\nAllow: GET, HEAD\r\n"));
  }
}

TEST(AnswerHttp, RefusesWhatIsNoRequest) {
  for (const char* const line : {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 x",
                                 "GET / x", "GET http://x/ HTTP/1.1", "PRI * HTTP/2.0x y"}) {
    EXPECT_EQ(LineOf(AnswerHttp(absl::StrCat(line, "\r\n\r\n"), Echo)), "HTTP/1.1 400 Bad Request")
        << line;
  }
  EXPECT_EQ(LineOf(AnswerHttp("PRI * HTTP/2.0\r\n\r\n", Echo)),
            "HTTP/1.1 505 HTTP Version Not Supported");
}

TEST(AnswerHttp, SurvivesAHandlerThatThrows) {
  const std::string answer = AnswerHttp(
      "GET / HTTP/1.1\r\n\r\n", [](absl::string_view) -> HttpAnswer { throw std::bad_alloc(); });
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 500 Internal Server Error");
}

}  // namespace
}  // namespace opserve
