// File: server/base/log_escape.h
//
// Text from outside, made harmless for whoever reads a log. Stateless and safe to use from any
// thread.

#ifndef OPSERVE_SERVER_BASE_LOG_ESCAPE_H_
#define OPSERVE_SERVER_BASE_LOG_ESCAPE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// Appends `text` as a JSON string, quotes included, of valid UTF-8. Escaped are, beside what JSON
// asks for, all characters by which a terminal or an editor shows something else than what is
// there: control characters, those of Unicode's second block included, marks that turn the
// direction of writing, and ends of lines. Each byte that is no part of valid UTF-8 becomes \ufffd.
void AppendQuoted(std::string& out, absl::string_view text);

// Whether AppendQuoted writes `text` as it is between the quotes: all of it is printable ASCII
// without quotes and backslashes.
bool IsPlainText(absl::string_view text);

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_LOG_ESCAPE_H_
