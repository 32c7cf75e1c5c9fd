// File: server/edge/connection_note.h
//
// What the edge keeps with a connection for others.

#ifndef OPSERVE_SERVER_EDGE_CONNECTION_NOTE_H_
#define OPSERVE_SERVER_EDGE_CONNECTION_NOTE_H_

namespace opserve {

// Base of what may be kept. Nobody changes it while it is.
class ConnectionNote {
 public:
  ConnectionNote(const ConnectionNote&) = delete;
  ConnectionNote& operator=(const ConnectionNote&) = delete;
  virtual ~ConnectionNote() = default;

 protected:
  ConnectionNote() = default;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CONNECTION_NOTE_H_
