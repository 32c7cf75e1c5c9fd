// File: server/program/access_options.h
//
// The flags about who may use the server.

#ifndef OPSERVE_SERVER_PROGRAM_ACCESS_OPTIONS_H_
#define OPSERVE_SERVER_PROGRAM_ACCESS_OPTIONS_H_

#include "server/service/server_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace opserve {

// Adds them to `app`, which writes what they say to `server`, which must outlive it.
void AddAccessOptions(CLI::App& app, ServerOptions& server);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_ACCESS_OPTIONS_H_
