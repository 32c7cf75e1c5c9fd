// File: tests/integration/http_page.h
//
// Pages that a server offers over HTTP.

#ifndef OPSERVE_TESTS_INTEGRATION_HTTP_PAGE_H_
#define OPSERVE_TESTS_INTEGRATION_HTTP_PAGE_H_

#include <string>

namespace opserve::testing {

// What a server at `address`, 127.0.0.1 and a port, answers to `request`, all bytes of it. Fails
// the test where it cannot be reached.
std::string AskHttp(const std::string& address, const std::string& request);

// The body of the page at `path`; what came instead where the answer is not 200.
std::string GetPage(const std::string& address, const std::string& path);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_HTTP_PAGE_H_
