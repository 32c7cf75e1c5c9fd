// File: proto/base/system_sockets.h
//
// The system's headers of sockets and addresses: those of POSIX, or of Windows, which declare most
// of the same names.

#ifndef OPSERVE_PROTO_BASE_SYSTEM_SOCKETS_H_
#define OPSERVE_PROTO_BASE_SYSTEM_SOCKETS_H_

// Their order matters.
// clang-format off
#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#endif
// clang-format on

namespace opserve {

// What the system's functions take.
#ifdef _WIN32
using SystemSocket = SOCKET;
#else
using SystemSocket = int;
#endif

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_SYSTEM_SOCKETS_H_
