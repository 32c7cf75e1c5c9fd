// File: server/edge/received_bytes.h
//
// Where the edge sees what gRPC receives.

#ifndef OPSERVE_SERVER_EDGE_RECEIVED_BYTES_H_
#define OPSERVE_SERVER_EDGE_RECEIVED_BYTES_H_

namespace opserve {

// Whether gRPC's calls of recvmsg and SSL_read go through this program's functions of these names,
// which show the bytes to the connection's FrameMeter. docs/adr/0019-edge.md tells why this is so.
bool SeesReceivedBytes();

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_RECEIVED_BYTES_H_
