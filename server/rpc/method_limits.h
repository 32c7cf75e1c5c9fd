// File: server/rpc/method_limits.h
//
// What one method may take of the server, who may call it, and who hears of its calls.

#ifndef OPSERVE_SERVER_RPC_METHOD_LIMITS_H_
#define OPSERVE_SERVER_RPC_METHOD_LIMITS_H_

#include <cstdint>

#include "server/access/role.h"
#include "server/admission/admission.h"
#include "server/record/request_record.h"

namespace opserve {

// Every method has such limits. Once a caller may call a method, gRPC receives any message up to
// its own limit; what these bound is the work and the memory from there on. A message of many tiny
// fields takes far more memory parsed than it did on the wire.
struct MethodLimits {
  // What callers must be allowed to do.
  Role role = Role::kAdmin;
  // Most bytes of a request, of each message where there are several. A larger one gets
  // REQUEST_TOO_LARGE before anything looks at it.
  uint64_t max_request_bytes = 0;
  // Counts the calls of the method: a unary one with the bytes of its request while it is worked on
  // and then with those of its answer until that has gone, a stream from its begin to its end, and
  // without bytes. nullptr: the method's function admits what it holds. Must outlive the calls.
  Admission* admission = nullptr;
  // Asked when a unary call has begun, for those whose functions admit what they hold: where there
  // is no room, it is refused without its message. nullptr: nobody is asked. Must outlive the
  // calls.
  Admission* room = nullptr;
  // Gets each unary call when it has ended, and each stream that ends with an error of the server;
  // nullptr: nobody wants to know. Must outlive the calls.
  RequestObserver* observer = nullptr;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_METHOD_LIMITS_H_
