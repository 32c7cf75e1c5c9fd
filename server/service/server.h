// File: server/service/server.h
//
// A running opserve server. Programs and tests start one, ask where it listens, and drain it:
//
//   absl::StatusOr<std::unique_ptr<Server>> server = Server::Start({.listen = {"127.0.0.1:0"}});
//   ... (*server)->port() ...
//   (*server)->Drain(std::chrono::seconds(30));

#ifndef OPSERVE_SERVER_SERVICE_SERVER_H_
#define OPSERVE_SERVER_SERVICE_SERVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/device/compute_device.h"
#include "server/edge/edge.h"
#include "server/service/server_options.h"

namespace opserve {

// How a drain ended.
enum class DrainResult {
  kComplete,     // every accepted request was answered, and every call is gone
  kTimedOut,     // some were not, in the time given
  kInterrupted,  // InterruptDrain was called before
};

// What a server takes from outside; clock and logger must outlive it. Defaults: real time, no log,
// this machine's processor, no GPU.
struct ServerEnvironment {
  const Clock* clock = nullptr;
  Logger* logger = nullptr;
  // In place of the machine's processor. It may block, so no request runs inline.
  std::shared_ptr<ComputeDevice> cpu = nullptr;
  // Finds the GPUs, in a thread of the server.
  GpuFinder find_gpus = nullptr;
  // Gives freed memory back to the system. Called in a thread of the server that may take some
  // time, after a peak of connections.
  std::function<void()> trim_heap = nullptr;
};

// Thread-safe, except for destruction.
class Server {
 public:
  // Starts a server that serves once this returns, with the processor; GPUs join when they are made
  // and tested. Fails with kInvalidArgument for options that
  // make no sense, and otherwise with a code and a message that tell why an address cannot be
  // listened on or a file cannot be read.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       const ServerEnvironment& environment = {});

  // Refuses new requests, answers what was accepted, and stops. Waits for the device.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Addresses in the order of the options, with the ports that were picked.
  const std::vector<std::string>& addresses() const;

  // Port of the first TCP address; 0 if there is none.
  int port() const;

  // Where metrics are offered, with the port that was picked; empty: nowhere.
  std::string metrics_address() const;

  // Opens the access log, the trace log and the audit log by their names again, after others have
  // renamed them. A file that cannot be opened is logged, and the old one stays in use.
  void ReopenLogs();

  // Waits until the lines of these logs that were added before are written or dropped, for all of
  // them together at most for `limit`: for programs that end without the server's destructor.
  // Returns whether they are: the destructor would wait for those that are not.
  bool FlushLogs(std::chrono::milliseconds limit);

  // What became of the connections so far.
  EdgeCounters connections() const;

  // What the server holds now: requests accepted and not yet answered, and the bytes of their
  // tensors. A request leaves a moment after its answer has been sent.
  Admission::Usage usage() const;

  // Reads the files again by which callers are known, for calls that begin from now on, and those
  // of TLS, for connections that are made from now on; others stay. What belongs to a file that is
  // broken stays in use; that is logged, and one of these errors returned. The server does so by
  // itself within about a second when files change.
  absl::Status ReloadFiles();

  // Reports NOT_SERVING, refuses new requests with UNAVAILABLE, and waits until every accepted
  // request is answered, for at most `timeout`. Requests whose clients keep them waiting for longer
  // than ServerOptions::drain_stall_limit are given up and not waited for. Then the connections
  // end, and calls that something else holds, such as the file of the audit log, have what is left
  // of `timeout`, or 2 s if that is more. Socket files are gone afterwards. After kComplete the
  // server has stopped; otherwise requests may still run in the device.
  DrainResult Drain(std::chrono::milliseconds timeout);

  // Whether every thread that reads calls takes an event within `limit`: for a watchdog, which must
  // not trust a thread of its own. By one thread at a time, not while it drains or after.
  bool Responds(std::chrono::milliseconds limit);

  // Ends the present drain, or the next one, at once.
  void InterruptDrain();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_SERVER_H_
