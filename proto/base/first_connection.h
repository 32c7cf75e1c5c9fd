// File: proto/base/first_connection.h
//
// What must have happened before gRPC connects. Shared by all that make channels.

#ifndef OPSERVE_PROTO_BASE_FIRST_CONNECTION_H_
#define OPSERVE_PROTO_BASE_FIRST_CONNECTION_H_

namespace opserve {

// To be called before a channel is made. The first time that two threads want the same lock of
// Abseil, it reads what the system tells of its processors, and leaves in errno that a file was
// missing. gRPC 1.51 looks at errno a while after its connect(), with locks in between: if that was
// just then, the connection fails with "No such file or directory". So Abseil reads it here. Takes
// some microseconds once. Thread-safe.
void PrepareFirstConnection();

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_FIRST_CONNECTION_H_
