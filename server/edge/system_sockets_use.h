// File: server/edge/system_sockets_use.h
//
// Windows' sockets must be switched on before they are used: for files that are compiled for it
// alone.

#ifndef OPSERVE_SERVER_EDGE_SYSTEM_SOCKETS_USE_H_
#define OPSERVE_SERVER_EDGE_SYSTEM_SOCKETS_USE_H_

#include "proto/base/system_sockets.h"

namespace opserve {

// Switches them on, once for the life of the process. Thread-safe.
inline void UseSystemSockets() {
  static const int error = [] {
    WSADATA data = {};
    return WSAStartup(MAKEWORD(2, 2), &data);
  }();
  // Whoever uses a socket is told by that.
  static_cast<void>(error);
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_SYSTEM_SOCKETS_USE_H_
