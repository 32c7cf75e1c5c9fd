// File: server/base/user_id.h
//
// Numbers of users and groups of this machine, as POSIX has them.

#ifndef OPSERVE_SERVER_BASE_USER_ID_H_
#define OPSERVE_SERVER_BASE_USER_ID_H_

#include <cstdint>

namespace opserve {

// uid_t and gid_t, also where a system has no such types and nothing ever has such a number.
using UserId = uint32_t;
using GroupId = uint32_t;

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_USER_ID_H_
