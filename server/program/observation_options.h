// File: server/program/observation_options.h
//
// Flags of opserve-server about what it tells of its requests and of itself.

#ifndef OPSERVE_SERVER_PROGRAM_OBSERVATION_OPTIONS_H_
#define OPSERVE_SERVER_PROGRAM_OBSERVATION_OPTIONS_H_

#include "CLI/CLI.hpp"
#include "server/service/server_options.h"

namespace opserve {

// Adds the flags to `app`; what they are set to goes to `server`, which must outlive `app`.
void AddObservationOptions(CLI::App& app, ServerOptions& server);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_OBSERVATION_OPTIONS_H_
