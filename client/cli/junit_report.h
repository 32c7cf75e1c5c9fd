// File: client/cli/junit_report.h
//
// Comparisons in the XML of JUnit, which test systems read. Stateless.

#ifndef OPSERVE_CLIENT_CLI_JUNIT_REPORT_H_
#define OPSERVE_CLIENT_CLI_JUNIT_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/comparison_report.h"

namespace opserve::cli {

// `text` as it stands between quotes or tags of XML 1.0 in UTF-8. What cannot be there, such as
// control characters and bytes that are no UTF-8, becomes U+FFFD.
std::string EscapeXml(absl::string_view text);

// The whole file: one suite, named after the operator, with a test case per compared result. The
// body of a failure lists the worst elements.
std::string RenderJunit(const ComparisonReport& report);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_JUNIT_REPORT_H_
