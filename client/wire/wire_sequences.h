// File: client/wire/wire_sequences.h
//
// From the client's sequences to the messages of the wire contract. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_CLIENT_WIRE_WIRE_SEQUENCES_H_
#define OPSERVE_CLIENT_WIRE_WIRE_SEQUENCES_H_

#include "client/wire/message.h"
#include "opserve/sequence.h"

namespace opserve::client_internal {

// The request for `sequence`; its payloads are the memory behind the inputs.
OutgoingMessage MakeRequest(const OperatorSequence& sequence);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_WIRE_SEQUENCES_H_
