// File: server/base/accept_pause.h
//
// When to accept connections again after accept() has failed.

#ifndef OPSERVE_SERVER_BASE_ACCEPT_PAUSE_H_
#define OPSERVE_SERVER_BASE_ACCEPT_PAUSE_H_

#include <cerrno>
#include <chrono>

namespace opserve {

// How long connections wait in the backlog where there is nothing to accept them with.
inline constexpr std::chrono::milliseconds kAcceptPause{100};

// Whether accept() failed with `error`, a value of errno, for want of descriptors or memory: it
// would fail again at once, and is to be called after kAcceptPause. Other errors say that there is
// no connection (EAGAIN), or what went wrong with one of them, which is gone from the backlog.
constexpr bool NeedsAcceptPause(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_ACCEPT_PAUSE_H_
