// File: server/base/broken_pipe.h
//
// Writing to whoever reads no more is an error like others, and not the end of the server.

#ifndef OPSERVE_SERVER_BASE_BROKEN_PIPE_H_
#define OPSERVE_SERVER_BASE_BROKEN_PIPE_H_

namespace opserve {

// From now on what the calling thread, and those that it starts, write to a pipe or a socket
// without a reader fails with EPIPE, and no signal (SIGPIPE) ends the program. Where the system has
// no such signal, it does nothing.
void BlockBrokenPipe();

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_BROKEN_PIPE_H_
