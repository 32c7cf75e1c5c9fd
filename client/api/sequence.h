// File: client/api/sequence.h
//
// Calls of several operators; see opserve/sequence.h. Thread-safe.

#ifndef OPSERVE_CLIENT_API_SEQUENCE_H_
#define OPSERVE_CLIENT_API_SEQUENCE_H_

#include <vector>

#include "client/api/client_impl.h"
#include "opserve/sequence.h"

namespace opserve::client_internal {

// The operation of Client::ExecuteSequence.
Operation<std::vector<SequenceResult>> ExecuteSequence(ClientImpl& client,
                                                       const OperatorSequence& sequence,
                                                       const CallOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_SEQUENCE_H_
