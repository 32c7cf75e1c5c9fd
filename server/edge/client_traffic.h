// File: server/edge/client_traffic.h
//
// What is counted of all connections of one client.

#ifndef OPSERVE_SERVER_EDGE_CLIENT_TRAFFIC_H_
#define OPSERVE_SERVER_EDGE_CLIENT_TRAFFIC_H_

#include "server/edge/arriving_bytes.h"
#include "server/edge/waiting_calls.h"

namespace opserve {

// Thread-safe.
struct ClientTraffic {
  WaitingCalls waiting_calls;
  ArrivingBytes arriving_bytes;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CLIENT_TRAFFIC_H_
