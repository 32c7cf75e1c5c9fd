// File: server/journal/line_text.h
//
// What every line needs and is dear to make each time anew. Stateless but for what a thread keeps
// for itself, and safe to use from any thread.

#ifndef OPSERVE_SERVER_JOURNAL_LINE_TEXT_H_
#define OPSERVE_SERVER_JOURNAL_LINE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace opserve {

// The text in which the calling thread makes lines, empty, with the room of those before. It is the
// same one at each call.
std::string& LineOfThread();

// `time` in UTC with microseconds, such as "2023-11-14T22:13:20.000300Z"; valid until the calling
// thread asks for another. Only the first time in each second is formatted in full.
absl::string_view UtcText(absl::Time time);

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_LINE_TEXT_H_
