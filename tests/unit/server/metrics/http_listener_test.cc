// Requests of the operator's HTTP pages, as text.

#include "server/metrics/http_listener.h"

#include <new>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

HttpAnswer Echo(const HttpRequest& request) {
  return {.body = absl::StrCat("you asked for ", request.path)};
}

std::string Ask(absl::string_view request, const HttpHandler& handler) {
  return AnswerHttp(request, HttpPeer(), handler);
}

std::string LineOf(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

TEST(AnswerHttp, GivesThePathWithoutItsQueryToTheHandler) {
  const std::string answer = Ask("GET /metrics?name=x HTTP/1.1\r\nHost: h\r\n\r\n", Echo);
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Length: 22\r\n")) << answer;
  EXPECT_TRUE(absl::StrContains(answer, "\r\nConnection: close\r\n"));
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\nyou asked for /metrics"));
}

TEST(AnswerHttp, AnswersHeadWithoutTheBody) {
  const std::string answer = Ask("HEAD / HTTP/1.0\r\n\r\n", Echo);
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Length: 15\r\n")) << answer;
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\n"));
}

TEST(AnswerHttp, TakesNoOtherMethod) {
  for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    const std::string answer = Ask(absl::StrCat(method, " / HTTP/1.1\r\n\r\n"), Echo);
    EXPECT_EQ(LineOf(answer), "HTTP/1.1 405 Method Not Allowed");
    EXPECT_TRUE(absl::StrContains(answer, "\r\nAllow: GET, HEAD\r\n"));
  }
}

TEST(AnswerHttp, RefusesWhatIsNoRequest) {
  for (const char* const line : {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 x",
                                 "GET / x", "GET http://x/ HTTP/1.1", "PRI * HTTP/2.0x y"}) {
    EXPECT_EQ(LineOf(Ask(absl::StrCat(line, "\r\n\r\n"), Echo)), "HTTP/1.1 400 Bad Request")
        << line;
  }
  EXPECT_EQ(LineOf(Ask("PRI * HTTP/2.0\r\n\r\n", Echo)), "HTTP/1.1 505 HTTP Version Not Supported");
}

TEST(AnswerHttp, TellsTheHandlerWhatTheSenderShows) {
  const HttpHandler shown = [](const HttpRequest& request) {
    return HttpAnswer{.body = absl::StrCat(request.has_authorization, request.is_ambiguous, " '",
                                           request.authorization, "'")};
  };
  EXPECT_TRUE(absl::EndsWith(Ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n", shown), "00 ''"));
  EXPECT_TRUE(
      absl::EndsWith(Ask("GET / HTTP/1.1\r\nHost: h\r\naUTHORIZATION:  Bearer x \r\n\r\n", shown),
                     "10 'Bearer x'"));
  EXPECT_TRUE(absl::EndsWith(
      Ask("GET / HTTP/1.1\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", shown), "11 'b'"));
}

// Another request, or a body, says nothing of this one.
TEST(AnswerHttp, ReadsNoHeadersBehindTheirEnd) {
  const HttpHandler shown = [](const HttpRequest& request) {
    return HttpAnswer{.body = absl::StrCat(request.has_authorization, request.is_ambiguous, " '",
                                           request.authorization, "'")};
  };
  for (const absl::string_view end : {"\r\n", "\n"}) {
    const std::string line = absl::StrCat("GET / HTTP/1.1", end);
    const std::string token = absl::StrCat("Authorization: Bearer x", end);
    const std::string twice = absl::StrCat(line, token, end, line, token, end);
    EXPECT_TRUE(absl::EndsWith(Ask(twice, shown), "10 'Bearer x'")) << end;
    const std::string in_body = absl::StrCat(line, "Content-Length: 25", end, end, token);
    EXPECT_TRUE(absl::EndsWith(Ask(in_body, shown), "00 ''")) << end;
  }
}

TEST(AnswerHttp, SaysHowToProveWhoOneIs) {
  const std::string answer = Ask("GET / HTTP/1.1\r\n\r\n", [](const HttpRequest&) {
    return HttpAnswer{.status = 401, .body = "no"};
  });
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 401 Unauthorized");
  EXPECT_TRUE(absl::StrContains(answer, "\r\nWWW-Authenticate: Bearer\r\n")) << answer;
}

TEST(AnswerHttp, SurvivesAHandlerThatThrows) {
  const std::string answer = Ask("GET / HTTP/1.1\r\n\r\n",
                                 [](const HttpRequest&) -> HttpAnswer { throw std::bad_alloc(); });
  EXPECT_EQ(LineOf(answer), "HTTP/1.1 500 Internal Server Error");
}

}  // namespace
}  // namespace opserve
