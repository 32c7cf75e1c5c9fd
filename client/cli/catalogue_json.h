// File: client/cli/catalogue_json.h
//
// The catalogue as JSON, for programs. Stateless.

#ifndef OPSERVE_CLIENT_CLI_CATALOGUE_JSON_H_
#define OPSERVE_CLIENT_CLI_CATALOGUE_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "opserve/catalogue.h"

namespace opserve::cli {

// Its operators and feature levels, with the names of the wire contract.
nlohmann::ordered_json ToJson(const Catalogue& catalogue);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CATALOGUE_JSON_H_
