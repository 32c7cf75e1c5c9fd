// File: proto/packets/foreign_descriptors.h
//
// Descriptors that other programs send over unix sockets. To close one may take as long as whoever
// sent it likes: a connection waits for what it has not sent (SO_LINGER), a file for the program
// that serves its file system. Closing a socket closes the descriptors that it has not received.
// Not on Windows. Safe to use from any thread.

#ifndef OPSERVE_PROTO_PACKETS_FOREIGN_DESCRIPTORS_H_
#define OPSERVE_PROTO_PACKETS_FOREIGN_DESCRIPTORS_H_

#include <sys/socket.h>

#include <cstddef>

#include "proto/packets/unique_fd.h"

namespace opserve {

// The most descriptors that come with one message.
inline constexpr size_t kMostDescriptorsOfMessage = 253;

// Room for all descriptors that may come with a message.
union ForeignDescriptorRoom {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMostDescriptorsOfMessage * sizeof(int))];
};

// Whoever connects to `listener`, a unix socket that does not listen yet, cannot send descriptors:
// sending fails with EPERM. Without effect before Linux 6.16.
void RefuseDescriptors(const UniqueFd& listener);

bool IsUnix(const UniqueFd& socket);

// Has a connected unix stream give bytes out of band among all others, before anything is received
// from it. The kernel drops them otherwise, and closes what comes with them in the receiving
// thread.
void ReceiveAllInline(int socket);

// Closes memory at once, and all else in a thread of its own, so that nobody here waits for it.
void CloseForeign(UniqueFd fd);

// The same for all descriptors that a received message has. Whether there was one.
bool CloseForeign(const msghdr& message);

// Shuts a connected unix socket that is to be closed, and does the same for all descriptors that it
// has not received. Whoever else receives from it loses what is left.
void DropUnread(int socket);

}  // namespace opserve

#endif  // OPSERVE_PROTO_PACKETS_FOREIGN_DESCRIPTORS_H_
