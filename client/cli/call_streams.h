// File: client/cli/call_streams.h
//
// Sends calls over streams and waits for each of them. Thread-safe.

#ifndef OPSERVE_CLIENT_CLI_CALL_STREAMS_H_
#define OPSERVE_CLIENT_CLI_CALL_STREAMS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "opserve/stream.h"

namespace opserve::cli {

class CallStreams {
 public:
  // Opens `count` streams, one on each connection where `client` has as many; none is fine as long
  // as there are no calls. `host`: of several hosts the one that has what the calls name, such as
  // tensors or a lease; empty: any of them.
  absl::Status Open(Client& client, int count, const std::string& host);

  // Runs `call`, or a sequence, on one of the streams, which take turns, and waits for it.
  absl::StatusOr<Tensor> Execute(const OperatorCall& call, ExecutionInfo* info);
  absl::StatusOr<std::vector<SequenceResult>> Execute(const OperatorSequence& sequence,
                                                      ExecutionInfo* info);

 private:
  template <class Result, class Request>
  absl::StatusOr<Result> ExecuteAny(const Request& request, ExecutionInfo* info);

  std::vector<std::unique_ptr<ExecuteStream>> streams_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CALL_STREAMS_H_
