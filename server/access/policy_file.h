// File: server/access/policy_file.h
//
// Reads what an operator writes about who may do what; docs/operations.md describes it.

#ifndef OPSERVE_SERVER_ACCESS_POLICY_FILE_H_
#define OPSERVE_SERVER_ACCESS_POLICY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/access/access_policy.h"

namespace opserve {

// The policy of a TOML text. INVALID_ARGUMENT with a message that names `file`, the line, and what
// is allowed there. Safe to use from any thread.
absl::StatusOr<AccessPolicy> ParsePolicy(absl::string_view text, const std::string& file);

// The same for a file; also fails as ReadSmallFile (server/base/small_file.h).
absl::StatusOr<AccessPolicy> ReadPolicyFile(const std::string& file);

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_POLICY_FILE_H_
