// File: server/base/random_id.h
//
// Names that nobody can guess. Stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_BASE_RANDOM_ID_H_
#define OPSERVE_SERVER_BASE_RANDOM_ID_H_

#include <cstddef>
#include <string>

namespace opserve {

// Characters of a random id.
inline constexpr size_t kRandomIdLength = 32;

// 128 random bits of the operating system as hexadecimal digits. Throws std::system_error where the
// system has no randomness.
std::string RandomId();

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_RANDOM_ID_H_
