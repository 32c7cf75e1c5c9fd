// File: opserve/stream.h
//
// Many calls over one stream, answered in the order in which they are done. Worth it for many small
// calls, which cost less than calls of their own, and for tensors larger than the server's largest
// message. What computes each element by itself, one operator or a sequence of them, computes large
// tensors while they come, and the server holds a few MiB of them: see
// StreamOptions::pipelined_from_bytes.
//
//   auto stream = client->OpenStream();
//   if (!stream.ok()) return stream.status();
//   std::vector<opserve::Call<opserve::Tensor>> results;
//   for (const opserve::OperatorCall& call : calls) results.push_back((*stream)->Start(call));
//   for (const auto& result : results) Use(result.Wait());
//   return (*stream)->Finish();

#ifndef OPSERVE_STREAM_H_
#define OPSERVE_STREAM_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "opserve/client.h"
#include "opserve/options.h"
#include "opserve/sequence.h"
#include "opserve/tensor.h"

namespace opserve {

namespace client_internal {
class StreamCore;
}  // namespace client_internal

// A stream of one client, made by Client::OpenStream; the client must outlive it. It stays on one
// of the client's connections. Thread-safe.
//
// Errors. A request that fails leaves the stream and the others alone; its status is that of
// Execute, and errors.h decodes it. Where the stream breaks, all open requests fail: with the
// server's status, with UNAVAILABLE where the connection was lost, with DATA_LOSS where an answer
// contradicts itself, and so do those that are submitted later: open another stream then. Nothing
// is ever retried, RESOURCE_EXHAUSTED of a busy server included; requests are idempotent, so the
// caller may.
//
// Memory. Inputs are sent from where they lie and must stay valid and unchanged until the callback
// runs or the handle's wait is over, whatever the outcome; then nothing refers to them any more. So
// a request that is cancelled, or whose time is up, may last longer while the connection takes what
// is being written of it. Where that takes 1 s beyond its time, the stream is given up: all fail
// with UNAVAILABLE.
class ExecuteStream {
 public:
  // Finish(StreamOptions::finish_timeout). Not to be called by a callback.
  ~ExecuteStream();
  ExecuteStream(const ExecuteStream&) = delete;
  ExecuteStream& operator=(const ExecuteStream&) = delete;

  // Sends `call` as soon as it is its turn, and returns the request's id. Never blocks: see
  // StreamOptions::max_bytes_in_flight for what waits. `done` runs exactly once, on a thread of the
  // client, possibly before this returns; it must not block, since answers of the whole stream wait
  // for it. `timeout` replaces StreamOptions::request_timeout; DEADLINE_EXCEEDED when it is over.
  // The memory behind the inputs must stay valid and unchanged until `done` runs; `call` itself
  // need not.
  uint64_t Submit(const OperatorCall& call, ExecuteCallback done,
                  std::optional<absl::Duration> timeout = {});

  // The same for a sequence, whose outputs have no places: `done` gets their results in the order
  // in which they were asked for, all of them or none. UNIMPLEMENTED where the server runs none on
  // streams, INVALID_ARGUMENT where it is one that returns no more than one output there.
  uint64_t Submit(const OperatorSequence& sequence, SequenceCallback done,
                  std::optional<absl::Duration> timeout = {});

  // The same with a handle, which may outlive the stream: it waits for the request, cancels it, or
  // runs a callback at its end.
  Call<Tensor> Start(const OperatorCall& call, std::optional<absl::Duration> timeout = {});
  Call<std::vector<SequenceResult>> Start(const OperatorSequence& sequence,
                                          std::optional<absl::Duration> timeout = {});

  // Deprecated: Start returns a handle that can do more. Submit with a future result.
  std::future<absl::StatusOr<Tensor>> SubmitFuture(const OperatorCall& call,
                                                   std::optional<absl::Duration> timeout = {});

  // Gives a request up, which fails with CANCELLED: its callback runs once its memory is free,
  // possibly before this returns. No effect where it has been answered.
  void Cancel(uint64_t id);

  // Takes no more requests, waits until all callbacks have returned, and ends the stream. After
  // `timeout` requests under way are given up with DEADLINE_EXCEEDED. Returns OK where the stream
  // ended as it should, else what broke it. Not to be called by a callback.
  absl::Status Finish(absl::Duration timeout = absl::InfiniteDuration());

 private:
  friend class Client;
  ExecuteStream(std::shared_ptr<client_internal::StreamCore> core, const StreamOptions& options);

  template <class Result, class Request>
  Call<Result> StartAny(const Request& request, std::optional<absl::Duration> timeout);

  const std::shared_ptr<client_internal::StreamCore> core_;
  const absl::Duration finish_timeout_;
};

}  // namespace opserve

#endif  // OPSERVE_STREAM_H_
