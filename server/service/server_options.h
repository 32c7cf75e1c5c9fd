// File: server/service/server_options.h
//
// The settings of a Server. docs/operations.md and --help describe them for its users.

#ifndef OPSERVE_SERVER_SERVICE_SERVER_OPTIONS_H_
#define OPSERVE_SERVER_SERVICE_SERVER_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/validate.h"
#include "server/access/access_control.h"
#include "server/admission/admission.h"
#include "server/batch/job.h"
#include "server/edge/edge.h"
#include "server/lease/lease_table.h"
#include "server/pool/device_pool.h"
#include "server/regions/region_table.h"
#include "server/resident/tensor_store.h"

namespace opserve {

// Shared memory with programs on the same machine.
struct RegionOptions {
  // Whether there is any, where the server listens on a socket file: regions are registered at a
  // socket file beside the first one, with the same permissions.
  bool is_on = true;
  RegionLimits limits;
  // Most connections, of one user and of all.
  size_t max_connections_per_user = 64;
  size_t max_connections = 256;
  // A connection without regions is ended after that.
  std::chrono::milliseconds idle_limit = std::chrono::minutes(1);
  // Whether POSIX shared memory, which its owner can cut off at will, may be registered by name.
  bool posix_shared_memory = false;
};

struct ServerOptions {
  // Addresses to listen on, each as server/edge/listen_address.h describes; at least one.
  std::vector<std::string> listen = {"127.0.0.1:50051"};
  // Address under which clients reach this host among others, as IsHostAddress of
  // server/errors/host_ids.h wants it: ids of tensors, regions and leases carry it. Empty: this is
  // the only host.
  std::string advertise;
  // PEM files; both or none. With them TCP addresses speak TLS only, and socket files never do.
  std::string tls_certificate;
  std::string tls_key;
  // PEM file with the authorities of the certificates of clients; empty: clients need none.
  std::string tls_client_ca;
  // Whether clients must have a certificate of these; otherwise one that they show must be good.
  bool requires_client_certificate = true;
  // Whether addresses that other machines reach may go without TLS.
  bool insecure = false;

  // Who may do what.
  AccessOptions access;

  // Whether clients of KServe's v2 protocol are served, too; see server/kserve/kserve_service.h.
  bool kserve = false;

  // Where metrics are offered over HTTP, in the form of `listen`; empty: nowhere.
  std::string metrics_listen;
  // Files that get a line for each request, and lines for the spans of each request that belongs to
  // a trace; "-": standard output, empty: none.
  std::string access_log;
  std::string trace_log;
  // File that gets a line for each call of AdminService or SelfTestDevices, and each time that
  // files are read again because somebody asks for it; likewise.
  std::string audit_log;

  // How many connections are taken, and what they may do.
  EdgeOptions edge;

  // Threads that read and answer calls, each with connections of its own; 0: chosen by the number
  // of processors.
  int pollers = 0;
  // Threads that run requests on the processor; 0: one per processor.
  int workers = 0;
  // Most threads that one large tensor is spread over; 0: one per processor.
  int cpu_threads = 0;

  // Where requests run that do not say.
  Placement placement = Placement::kAuto;
  // Batches, verification and recovery of devices. cpu_workers follows `workers`, and inline_bytes
  // the one below.
  PoolOptions pool;
  // Most bytes of inputs and outputs of a request that a poller runs on the processor itself; see
  // PoolOptions.
  uint64_t inline_bytes = uint64_t{8} << 20;

  // Largest message in bytes, in each direction. One tensor of the largest size, and what a request
  // or an answer says beside it, fit into one.
  uint64_t max_message_bytes = uint64_t{257} << 20;
  // One client may have much, as it may be the only one, but leaves a quarter to others.
  AdmissionLimits admission = {.max_requests_per_client = 768,
                               .max_bytes_per_client = uint64_t{768} << 20};
  // Most bytes that gRPC holds for messages which it is receiving or sending. Beyond it calls fail
  // with RESOURCE_EXHAUSTED.
  uint64_t max_transport_bytes = uint64_t{2} << 30;
  // Most bytes of messages that one client has begun to send and not ended, by the lengths that
  // they announce; never less than one of the largest.
  uint64_t max_transport_bytes_per_client = uint64_t{1} << 30;
  // A call is given up when its client has kept it waiting for so long.
  std::chrono::milliseconds stall_limit = std::chrono::minutes(2);
  // The same while the server drains, where that is less.
  std::chrono::milliseconds drain_stall_limit = std::chrono::seconds(2);
  // Most bytes of tensors that one stream may have under way.
  uint64_t max_stream_bytes = uint64_t{512} << 20;
  // Most bytes of inputs and results held of a request whose payloads come run by run.
  uint64_t stream_window_bytes = uint64_t{8} << 20;
  // Memory in bytes that is kept for later tensors when their requests are done. Beyond it memory
  // goes back to the allocator.
  uint64_t idle_buffer_bytes = uint64_t{256} << 20;
  ValidationLimits validation = {.max_tensor_bytes = uint64_t{256} << 20};
  RegionOptions regions;
  TensorLimits tensors;
  DeviceLeaseLimits device_leases;
  // Most steps of a sequence.
  size_t max_sequence_steps = 64;
  // Validated calls that are remembered; 0 switches the cache off.
  size_t request_cache_entries = 4096;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_SERVER_OPTIONS_H_
