// File: kernels/utf8.h
//
// Cutting text of clients for messages. Stateless and safe to use from any thread.

#ifndef OPSERVE_KERNELS_UTF8_H_
#define OPSERVE_KERNELS_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// The first `max_bytes` of UTF-8 text; ends with "..." where cut. Never holds a part of a
// character, even if `text` does: proto3 cannot carry one, and the client would lose all details.
std::string TruncateUtf8(absl::string_view text, size_t max_bytes);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_UTF8_H_
