// File: server/program/socket_options.h
//
// Flags about who may open the socket files.

#ifndef OPSERVE_SERVER_PROGRAM_SOCKET_OPTIONS_H_
#define OPSERVE_SERVER_PROGRAM_SOCKET_OPTIONS_H_

#include "CLI/CLI.hpp"
#include "server/edge/listening_socket.h"

namespace opserve {

// Adds --socket-mode and --socket-group, which set `access`; it must outlive the parsing.
void AddSocketOptions(CLI::App& app, SocketFileAccess& access);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_SOCKET_OPTIONS_H_
