// File: server/edge/socket_file.h
//
// Paths of socket files. On Windows there are none for this server: docs/adr/0043-windows.md.

#ifndef OPSERVE_SERVER_EDGE_SOCKET_FILE_H_
#define OPSERVE_SERVER_EDGE_SOCKET_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve {

// OK where a socket file may have that path; else kInvalidArgument, with what is wrong as the rest
// of a sentence about the address. Safe to use from any thread.
absl::Status CheckSocketPath(absl::string_view path);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_SOCKET_FILE_H_
