// File: server/edge/descriptor_limit.h
//
// How many descriptors this process may have.

#ifndef OPSERVE_SERVER_EDGE_DESCRIPTOR_LIMIT_H_
#define OPSERVE_SERVER_EDGE_DESCRIPTOR_LIMIT_H_

#include <cstddef>

namespace opserve {

// Raises the limit as far as the process may by itself. To be called before threads are started.
void RaiseDescriptorLimit();

// How many connections the limit in force leaves room for: each takes two descriptors, and a
// quarter, at most 1024, is kept for everything else.
size_t ConnectionsWithinDescriptorLimit();

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_DESCRIPTOR_LIMIT_H_
