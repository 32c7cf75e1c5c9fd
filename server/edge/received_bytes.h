// File: server/edge/received_bytes.h
//
// Where the edge sees what gRPC receives.

#ifndef OPSERVE_SERVER_EDGE_RECEIVED_BYTES_H_
#define OPSERVE_SERVER_EDGE_RECEIVED_BYTES_H_

#include <openssl/types.h>

namespace opserve {

struct EdgeConnection;

// Whether gRPC's calls of recvmsg and SSL_read go through this program's functions of these names,
// which show the bytes to the connection's FrameMeter, and let it change them.
// docs/adr/0019-edge.md tells why this is so.
bool SeesReceivedBytes();

// The connection of a TLS session of which bytes were received; nullptr for others. Lives as long
// as the session.
EdgeConnection* KnownTlsConnection(const SSL* ssl);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_RECEIVED_BYTES_H_
