// File: server/edge/sent_bytes.h
//
// Where the edge sees what gRPC sends.

#ifndef OPSERVE_SERVER_EDGE_SENT_BYTES_H_
#define OPSERVE_SERVER_EDGE_SENT_BYTES_H_

namespace opserve {

// Whether gRPC's calls of sendmsg and SSL_write go through this program's functions of these names,
// which show the bytes to the connection's FrameMeter: it so knows which calls the server has ended
// before their messages came. docs/adr/0019-edge.md tells why this is so.
bool SeesSentBytes();

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_SENT_BYTES_H_
