#include "server/service/server.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "grpc/support/cpu.h"
#include "grpcpp/grpcpp.h"
#include "proto/base/named_thread.h"
#include "proto/transport/wake_pollers.h"
#include "server/access/access_control.h"
#include "server/admission/admission.h"
#include "server/base/task_thread.h"
#include "server/base/watched_files.h"
#include "server/device/cpu/cpu_device.h"
#include "server/edge/edge.h"
#include "server/edge/listen_address.h"
#include "server/errors/host_ids.h"
#include "server/journal/access_log.h"
#include "server/journal/audit_log.h"
#include "server/journal/line_file.h"
#include "server/journal/trace_log.h"
#include "server/kserve/kserve_service.h"
#include "server/lease/device_leases.h"
#include "server/lease/pool_devices.h"
#include "server/metrics/device_history.h"
#include "server/metrics/http_access.h"
#include "server/metrics/http_listener.h"
#include "server/metrics/request_metrics.h"
#include "server/metrics/server_metrics.h"
#include "server/metrics/status_page.h"
#include "server/regions/region_socket.h"
#include "server/rpc/health_service.h"
#include "server/rpc/poller.h"
#include "server/rpc/reflection_service.h"
#include "server/rpc/tls_identity.h"
#include "server/rpc/transport.h"
#include "server/service/admin_service.h"
#include "server/service/device_drains.h"
#include "server/service/gpu_readiness.h"
#include "server/service/peak_watch.h"
#include "server/service/saturation.h"
#include "server/service/service.h"
#include "server/validate/request_validator.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;

// Streams of health and reflection never end by themselves; their connections end, and are cut
// after this time.
constexpr milliseconds kStreamGrace{200};
// Requests that are under way when the connections end learn nothing but UNAVAILABLE. So a drained
// server refuses properly until clients have heard of it and are quiet for this time, ...
constexpr milliseconds kQuiet{50};
// ... and does not wait longer than this for clients that never cease.
constexpr milliseconds kMostQuietWait{1000};
// Calls that no drain waits for end with their connections. Those that something else holds, such
// as the file of the audit log, have what is left of the drain's time for that, or this if it is
// more, ...
constexpr milliseconds kCallGrace{2000};
// ... and so often it is looked whether the drain was interrupted meanwhile.
constexpr milliseconds kInterruptCheck{50};
// What the edge, logs, gRPC and all else take beside pollers, workers and the threads below, and
// some to spare.
constexpr int kOtherThreads = 24;
// What gRPC has for each of the machine's processors, whichever of them this program may use.
constexpr unsigned kLeastEventThreads = 2;
constexpr unsigned kMostEventThreads = 32;
// The thread that ends calls has nothing else to do.
constexpr milliseconds kIdlePeriod = std::chrono::hours(24);
// See Server::Impl.
constexpr uint64_t kMostControlCalls = 1024;
constexpr uint64_t kMostControlBytes = 64 << 20;
constexpr uint64_t kMostStreams = 16384;
constexpr absl::string_view kCertificateReadEvent = "certificate read";
constexpr absl::string_view kCertificateKeptEvent = "certificate kept";
constexpr char kRegionSocketSuffix[] = ".regions";
// How often the files are looked at that are read again when they change.
constexpr milliseconds kFilePeriod{1000};
constexpr milliseconds kForever = std::chrono::hours(24 * 365);

int ProcessorCount() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// `make bench-pollers` tells what each is worth.
int PollersOf(const ServerOptions& options) {
  return options.pollers > 0 ? options.pollers : std::clamp(ProcessorCount() / 4, 1, 8);
}

int WorkersOf(const ServerOptions& options) {
  return options.workers > 0 ? options.workers : ProcessorCount();
}

int EventThreads() {
  return static_cast<int>(std::clamp(gpr_cpu_num_cores(), kLeastEventThreads, kMostEventThreads));
}

// Throws where the system has not so many threads. gRPC would not tell of that, and would wait for
// ever, at its end, for those that it did not get.
void TryThreads(int count) {
  std::promise<void> done;
  std::vector<std::thread> threads;
  const absl::Cleanup end = [&done, &threads] {
    done.set_value();
    for (std::thread& thread : threads) thread.join();
  };
  threads.reserve(static_cast<size_t>(count));
  const std::shared_future<void> is_done = done.get_future().share();
  for (int i = 0; i < count; ++i) {
    threads.push_back(StartThread("try", [is_done] { is_done.wait(); }));
  }
}

PoolOptions MakePoolOptions(const ServerOptions& options, const ServerEnvironment& environment) {
  PoolOptions pool = options.pool;
  pool.inline_bytes = environment.cpu == nullptr ? options.inline_bytes : 0;
  pool.cpu_workers = WorkersOf(options);
  return pool;
}

// nullptr where there is no TLS.
absl::StatusOr<std::shared_ptr<TlsIdentity>> LoadIdentity(const ServerOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("a TLS certificate needs a key, and a key a certificate");
  }
  if (options.tls_certificate.empty()) {
    if (options.tls_client_ca.empty()) return std::shared_ptr<TlsIdentity>();
    return absl::InvalidArgumentError(
        "certificates of clients can only be checked with TLS: give --tls-certificate and "
        "--tls-key beside --tls-client-ca");
  }
  return TlsIdentity::Load({options.tls_certificate, options.tls_key, options.tls_client_ca,
                            options.requires_client_certificate});
}

absl::Status CheckOptions(const ServerOptions& options) {
  if (options.listen.empty()) return absl::InvalidArgumentError("there is no address to listen on");
  if (options.workers < 0 || options.cpu_threads < 0 || options.pollers < 0) {
    return absl::InvalidArgumentError("numbers of threads cannot be negative");
  }
  if (options.max_message_bytes <= kMaxResponseHeaderBytes ||
      options.max_message_bytes > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the largest message (", options.max_message_bytes, " bytes) must be above ",
                     kMaxResponseHeaderBytes, " and below 2 GiB"));
  }
  if (!(options.pool.verify_rate >= 0 && options.pool.verify_rate <= 1)) {
    return absl::InvalidArgumentError("the share of results to verify must be from 0 to 1");
  }
  if (!options.advertise.empty() && !IsHostAddress(options.advertise)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "clients cannot be told to go to '", options.advertise,
        "'; it must be host:port or unix:/path, and no address that stands for all of a machine"));
  }
  return absl::OkStatus();
}

// What has ids of its own gets to know the host.
ServerOptions WithHost(const ServerOptions& options) {
  ServerOptions with_host = options;
  with_host.tensors.host = options.advertise;
  with_host.regions.limits.host = options.advertise;
  with_host.device_leases.host = options.advertise;
  return with_host;
}

// An address that the server may listen on.
absl::StatusOr<ListenAddress> ParseAddress(const std::string& text, const ServerOptions& options) {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
  if (!address.ok()) return address.status();
  const bool is_plain = options.tls_certificate.empty() && !address->IsLocal();
  if (is_plain && !options.insecure) {
    return absl::InvalidArgumentError(absl::StrCat(
        address->ToString(),
        " can be reached by other machines, and everybody on the way could read and change what "
        "is sent; give --tls-certificate and --tls-key, or --insecure where the network is "
        "trusted"));
  }
  return address;
}

absl::StatusOr<std::vector<ListenAddress>> ParseAddresses(const ServerOptions& options) {
  std::vector<ListenAddress> addresses;
  for (const std::string& text : options.listen) {
    absl::StatusOr<ListenAddress> address = ParseAddress(text, options);
    if (!address.ok()) return address.status();
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

}  // namespace

// Members are destroyed from the last to the first: gRPC before what its calls use.
struct Server::Impl {
  Impl(const ServerOptions& server_options, const ServerEnvironment& environment)
      : options(WithHost(server_options)),
        clock(environment.clock != nullptr ? *environment.clock : SteadyClock()),
        logger(environment.logger != nullptr ? *environment.logger : silent_logger),
        trim_heap(environment.trim_heap),
        validator(options.validation, options.max_message_bytes, options.request_cache_entries,
                  [this] { return pool.gpu_presence(); }),
        admission(options.admission),
        control({.max_requests = kMostControlCalls,
                 .max_bytes = std::max(kMostControlBytes, options.max_message_bytes),
                 .max_requests_per_client = kMostControlCalls / 2}),
        streams({.max_requests = kMostStreams, .max_requests_per_client = kMostStreams / 2}),
        leases(options.device_leases, clock, logger),
        pool(MakePoolOptions(options, environment), clock, logger,
             environment.cpu != nullptr ? environment.cpu
                                        : std::make_shared<CpuDevice>(options.cpu_threads),
             environment.find_gpus,
             [this] {
               gpu_readiness.Update();
               leases.Wake();
               device_history.Update();
               drains.Update();
             }),
        service({clock, pool, leases, validator, admission, control, streams, logger, options,
                 audit_log, observes ? &observers : nullptr, admin_observer()}) {
    observers.Add(request_metrics.get());
  }
  // The devices may change their states for longer than there is a health service.
  ~Impl() {
    gpu_readiness.Detach();
    device_history.Detach();
    leases.Stop();
  }

  absl::Status Listen();
  // Opens the access log and the trace log, if they are to be.
  absl::Status OpenLogs();
  absl::Status BuildServer(const std::vector<ListenAddress>& listen);
  // Offers shared memory beside the first socket file, if there is one.
  absl::Status ShareMemory();
  // Offers metrics, if they are to be.
  absl::Status OfferMetrics();
  // Lets nobody in before it is known who may do what.
  absl::Status ControlAccess();
  // A line of the audit log for files that were read again because somebody asked for it.
  void AuditReload(const absl::Status& status);
  // `devices`: their names.
  void LogStart(absl::string_view devices) const;
  // From now on clients lose calls that they keep waiting for the time that a drain gives them.
  void HurryClients();
  // Takes no more calls, and ends the connections. Socket files are gone afterwards.
  void StopListening();
  // Has gRPC stopped in a thread of its own, as calls may be held for as long as a file stalls;
  // ready once all calls are gone. After StopListening.
  std::future<void> EndCalls();
  // Waits for that until `end`, or until the drain is interrupted.
  DrainResult WaitForCalls(std::chrono::steady_clock::time_point end);
  // Answers what was accepted, and stops. Once there is a gRPC server.
  void End();
  void RemoveSocketFiles();
  // Takes a sample of what is held, tells health where the server fills up or has room again, and
  // gives memory back after a peak.
  void WatchLoad();
  std::unique_ptr<KserveService> MakeKserve();
  std::vector<std::string> ReflectedNames();
  std::vector<RpcService*> Services();
  // Of calls that only administrators may make; nullptr where nobody will want to know of them.
  RequestObserver* admin_observer() {
    return observes || !options.audit_log.empty() ? &admin_observers : nullptr;
  }

  // The first, so that it ends after all that uses gRPC.
  GrpcUse grpc;
  const ServerOptions options;
  const Clock& clock;
  Logger silent_logger{LogFormat::kText, LogLevel::kOff};
  Logger& logger;
  const std::function<void()> trim_heap;
  std::unique_ptr<AccessControl> access;
  RequestValidator validator;
  Admission admission;
  // Calls about the server itself are answered at once: what they hold is answers that their
  // clients do not take, of up to a few hundred KiB. They have a budget of their own, so that a
  // full server can be asked what fills it. It stays open while the server drains.
  Admission control;
  // Streams last as long as their clients like. Each takes some KiB here and in gRPC; what its
  // requests hold is admitted like that of others.
  Admission streams;
  // Absent where nobody can ask for them.
  const std::unique_ptr<RequestMetrics> request_metrics =
      options.metrics_listen.empty() ? nullptr : std::make_unique<RequestMetrics>();
  // Absent where they are not asked for. Calls begin once all observers are there.
  std::unique_ptr<LineFile> access_file;
  std::unique_ptr<LineFile> trace_file;
  std::optional<AccessLog> access_log;
  std::optional<TraceLog> trace_log;
  // Its file tells it of lines until the end of the file's thread.
  std::optional<AuditLog> audit_log;
  std::unique_ptr<LineFile> audit_file;
  ObserverList observers;
  const bool observes =
      request_metrics != nullptr || !options.access_log.empty() || !options.trace_log.empty();
  // See admin_observer().
  ObserverList admin_observers;
  GpuReadiness gpu_readiness;
  DeviceLeases leases;
  DeviceDrains drains;
  DeviceHistory device_history;
  DevicePool pool;
  PoolDevices leasable{pool};
  OperatorService service;
  AdminService admin{{pool, leases, drains, control, logger, admin_observer(), audit_log}};
  HealthService health{&streams, &logger};
  // Absent where it is not to be offered.
  const std::unique_ptr<KserveService> kserve = MakeKserve();
  ReflectionService reflection{ReflectedNames(), &streams, &logger};
  // All that are offered.
  const std::vector<RpcService*> services = Services();
  std::vector<std::unique_ptr<Poller>> pollers;
  std::unique_ptr<RegionSocket> region_socket;
  std::unique_ptr<Edge> edge;
  // Absent without TLS.
  std::shared_ptr<TlsIdentity> identity;
  std::shared_ptr<grpc::ServerCredentials> credentials;
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> addresses;
  std::vector<std::string> socket_files;
  int port = 0;
  Saturation saturation{options.admission};  // of saturation_watch
  bool was_full = false;                     // of saturation_watch
  PeakWatch peak;                            // of saturation_watch
  std::unique_ptr<TaskThread> saturation_watch;
  std::unique_ptr<HttpListener> metrics_listener;
  // There before it is needed: at the end there may be no thread to be had.
  TaskThread call_ender{"end-calls", kIdlePeriod, [] {}};
  // Used by file_thread alone, once that is there.
  WatchedFiles identity_files{{kCertificateReadEvent, kCertificateKeptEvent},
                              {options.tls_certificate, options.tls_key, options.tls_client_ca},
                              [this] { return identity->Reload(); },
                              logger};
  // Looks at the files that may change. The last member, so that it ends first.
  std::optional<TaskThread> file_thread;
};

std::unique_ptr<KserveService> Server::Impl::MakeKserve() {
  if (!options.kserve) return nullptr;
  return std::make_unique<KserveService>(KserveParts{
      .execute = service.execute_parts(),
      .admission = admission,
      .control = control,
      .streams = streams,
      .logger = logger,
      .regions = service.regions(),
      .takes_memory_names = options.regions.is_on && options.regions.posix_shared_memory,
      .max_message_bytes = options.max_message_bytes,
      .is_ready = [this] { return admission.is_open(); },
      .observer = observes ? &observers : nullptr});
}

std::vector<std::string> Server::Impl::ReflectedNames() {
  std::vector<std::string> names = {service.rpc().name(), admin.rpc().name(), health.rpc().name()};
  if (kserve != nullptr) names.push_back(kserve->rpc().name());
  return names;
}

std::vector<RpcService*> Server::Impl::Services() {
  std::vector<RpcService*> all = {&service.rpc(), &admin.rpc(), &health.rpc(), &reflection.rpc(),
                                  &reflection.rpc_v1()};
  if (kserve != nullptr) all.push_back(&kserve->rpc());
  return all;
}

absl::Status Server::Impl::Listen() {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  absl::StatusOr<std::vector<ListenAddress>> listen = ParseAddresses(options);
  if (!listen.ok()) return listen.status();
  if (absl::Status status = OpenLogs(); !status.ok()) return status;
  if (absl::Status status = ControlAccess(); !status.ok()) return status;
  return BuildServer(*listen);
}

absl::Status Server::Impl::OpenLogs() {
  const auto open = [this](const std::string& path, absl::string_view title,
                           std::unique_ptr<LineFile>& file) {
    if (path.empty()) return absl::OkStatus();
    auto opened = LineFile::Open({.path = path, .title = title}, logger);
    if (!opened.ok()) return opened.status();
    file = *std::move(opened);
    return absl::OkStatus();
  };
  if (absl::Status status = open(options.access_log, "access", access_file); !status.ok()) {
    return status;
  }
  if (absl::Status status = open(options.trace_log, "trace", trace_file); !status.ok()) {
    return status;
  }
  if (absl::Status status = open(options.audit_log, "audit", audit_file); !status.ok()) {
    return status;
  }
  if (access_file != nullptr) observers.Add(&access_log.emplace(*access_file));
  if (trace_file != nullptr) observers.Add(&trace_log.emplace(*trace_file));
  if (observes) admin_observers.Add(&observers);
  if (audit_file != nullptr) admin_observers.Add(&audit_log.emplace(*audit_file, logger));
  return absl::OkStatus();
}

absl::Status Server::Impl::ControlAccess() {
  AccessOptions access_options = options.access;
  access_options.is_tls = !options.tls_certificate.empty();
  auto loaded = AccessControl::Load(access_options, logger);
  if (!loaded.ok()) return loaded.status();
  access = *std::move(loaded);
  for (RpcService* const rpc : services) {
    rpc->set_access(access.get(), !options.tls_client_ca.empty());
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::BuildServer(const std::vector<ListenAddress>& listen) {
  auto loaded = LoadIdentity(options);
  if (!loaded.ok()) return loaded.status();
  identity = *std::move(loaded);
  credentials =
      identity == nullptr ? grpc::InsecureServerCredentials() : TlsServerCredentials(identity);
  EdgeOptions edge_options = options.edge;
  edge_options.frames.messages = {.max_message_bytes = options.max_message_bytes,
                                  .max_arriving_bytes = options.max_transport_bytes_per_client};
  edge_options.connections_of = [this](const PeerIdentity& peer) {
    return access->GrantOf(peer)->max_connections;
  };
  auto edge_or = Edge::Listen(listen, edge_options, identity != nullptr, logger);
  if (!edge_or.ok()) return edge_or.status();
  edge = *std::move(edge_or);
  for (const ListenAddress& bound : edge->addresses()) {
    if (bound.is_unix()) socket_files.push_back(bound.unix_path);
  }
  // What may fail comes before there is a gRPC server, which must be shut down.
  if (absl::Status status = ShareMemory(); !status.ok()) return status;
  if (absl::Status status = OfferMetrics(); !status.ok()) return status;
  grpc::ServerBuilder builder;
  SetUpTransport(
      {.message_bytes = options.max_message_bytes, .held_bytes = options.max_transport_bytes},
      builder);
  for (RpcService* const rpc : services) builder.RegisterService(rpc);
  for (int i = 0; i < PollersOf(options); ++i) {
    pollers.push_back(
        std::make_unique<Poller>(builder.AddCompletionQueue(), options.stall_limit, i));
  }
  edge->AddTo(builder, credentials);
  server = builder.BuildAndStart();
  if (server == nullptr) return absl::InternalError("the gRPC server does not start");
  for (const ListenAddress& bound : edge->addresses()) {
    if (!bound.is_unix() && port == 0) port = bound.port;
    addresses.push_back(bound.ToString());
  }
  health.SetServingStatus(kServiceName, true);
  health.SetServingStatus(kAdmissionHealthName, true);
  saturation_watch =
      std::make_unique<TaskThread>("saturation", Saturation::kPeriod, [this] { WatchLoad(); });
  gpu_readiness.Attach(health, pool);
  device_history.Attach(pool);
  for (const std::unique_ptr<Poller>& poller : pollers) {
    for (RpcService* const rpc : services) rpc->Accept(*poller);
    poller->Start();
  }
  edge->Start(*server);
  if (access->has_files() || identity_files.has_files()) {
    file_thread.emplace("files", kFilePeriod, [this] {
      access->ReadChanged();
      identity_files.ReadChanged();
    });
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::OfferMetrics() {
  if (request_metrics == nullptr) return absl::OkStatus();
  auto address = ParseAddress(options.metrics_listen, options);
  if (!address.ok()) return address.status();
  MetricSources sources = {.requests = *request_metrics,
                           .admission = admission,
                           .pool = pool,
                           .tensors = service.resident_tensors(),
                           .regions = service.regions(),
                           .edge = *edge,
                           .leases = leases,
                           .history = device_history,
                           .logs = {},
                           .version = OPSERVE_VERSION};
  for (const LineFile* const file : {access_file.get(), trace_file.get(), audit_file.get()}) {
    if (file != nullptr) sources.logs.push_back(file);
  }
  HttpCertificateSource certificates;
  // As at --listen, a socket file speaks plain text: the kernel tells who is there.
  if (identity != nullptr && !address->is_unix()) {
    certificates = [identity = identity] {
      const std::shared_ptr<const TlsIdentity::Pair> pair = identity->pair();
      return HttpCertificates{pair->certificate, pair->key, pair->client_ca,
                              identity->files().requires_client, pair->version};
    };
  }
  auto started = HttpListener::Start(*address, {},
                                     ForObservers(*access, logger,
                                                  [sources](const HttpRequest& request) {
                                                    return AnswerPath(sources, request.path);
                                                  }),
                                     std::move(certificates), options.edge.socket_files);
  if (!started.ok()) {
    return absl::Status(started.status().code(),
                        absl::StrCat("cannot offer metrics at ", options.metrics_listen, ": ",
                                     started.status().message()));
  }
  metrics_listener = *std::move(started);
  return absl::OkStatus();
}

absl::Status Server::Impl::ShareMemory() {
  if (!options.regions.is_on || socket_files.empty()) return absl::OkStatus();
  RegionSocketOptions region_options;
  region_options.path = socket_files.front() + kRegionSocketSuffix;
  region_options.max_connections_per_user = options.regions.max_connections_per_user;
  region_options.max_connections = options.regions.max_connections;
  region_options.idle_limit = options.regions.idle_limit;
  region_options.takes_names = options.regions.posix_shared_memory;
  region_options.may_use = [this](UserId user) { return access->CheckUser(user, Role::kRegions); };
  region_options.limit = [this](RegionOwner& owner) {
    const auto grant = access->GrantOf(PeerOfUser(owner.user));
    owner.max_bytes_of_user = grant->max_region_bytes;
    owner.max_regions_of_user = grant->max_regions;
  };
  // Whoever may call may share memory.
  std::error_code error;
  const auto file = std::filesystem::status(socket_files.front(), error);
  if (!error) region_options.mode = static_cast<mode_t>(file.permissions()) & 0777;
  auto socket = RegionSocket::Start(region_options, service.regions(), clock);
  if (!socket.ok()) {
    return absl::Status(socket.status().code(),
                        absl::StrCat("cannot share memory: ", socket.status().message()));
  }
  region_socket = *std::move(socket);
  // It was made with the mode; the group is the same setting.
  if (absl::Status status = SetAccess(region_options.path, options.edge.socket_files);
      !status.ok()) {
    return status;
  }
  service.set_region_socket(region_socket->path());
  return absl::OkStatus();
}

std::string DeviceNames(const DevicePool& pool) {
  return absl::StrJoin(pool.Status(), ",", [](std::string* out, const DeviceStatus& device) {
    absl::StrAppend(out, device.profile.name);
  });
}

void Server::Impl::AuditReload(const absl::Status& status) {
  if (!audit_log) return;
  audit_log->Write({.client = "signal", .method = "ReloadFiles", .code = status.code()}, [] {});
}

void Server::Impl::LogStart(absl::string_view devices) const {
  logger.Log(
      LogLevel::kInfo, "serving",
      {{"version", OPSERVE_VERSION},
       {"addresses", absl::StrJoin(addresses, ",")},
       {"metrics", metrics_listener == nullptr ? "off" : metrics_listener->address().ToString()},
       {"tls", options.tls_key.empty() ? "off" : "on"},
       {"pollers", pollers.size()},
       {"devices", devices},
       {"placement", NameOf(options.placement)},
       {"verify", options.pool.verify_rate},
       {"max_message_bytes", options.max_message_bytes},
       {"max_concurrent_requests", options.admission.max_requests},
       {"max_queued_bytes", options.admission.max_bytes},
       {"max_tensor_bytes", options.validation.max_tensor_bytes},
       {"max_elements", options.validation.max_elements},
       {"regions", region_socket == nullptr ? "off" : region_socket->path()},
       {"request_cache_entries", options.request_cache_entries}});
}

void Server::Impl::HurryClients() {
  for (const std::unique_ptr<Poller>& poller : pollers) poller->HurryUp(options.drain_stall_limit);
}

void Server::Impl::StopListening() {
  saturation_watch.reset();
  // From here on nothing but their handlers refers to streams.
  leases.Stop();
  edge->StopAccepting();
  // Before gRPC knows: it would cancel calls that come from then on, which says that their clients
  // did it.
  edge->EndConnections(kStreamGrace);
  RemoveSocketFiles();
}

std::future<void> Server::Impl::EndCalls() {
  // Shared, because the task touches it for a moment after it is ready.
  const auto ended = std::make_shared<std::promise<void>>();
  std::future<void> result = ended->get_future();
  call_ender.Start("", 0, [this, ended] {
    server->Shutdown(std::chrono::system_clock::now() + kStreamGrace);
    for (const std::unique_ptr<Poller>& poller : pollers) poller->Stop();
    ended->set_value();
  });
  return result;
}

DrainResult Server::Impl::WaitForCalls(std::chrono::steady_clock::time_point end) {
  const std::future<void> ended = EndCalls();
  // At least once, as nearly always nothing holds them.
  while (ended.wait_for(kInterruptCheck) != std::future_status::ready) {
    if (admission.is_interrupted()) return DrainResult::kInterrupted;
    if (std::chrono::steady_clock::now() >= end) return DrainResult::kTimedOut;
  }
  return DrainResult::kComplete;
}

void Server::Impl::End() {
  HurryClients();
  leases.Close();
  admission.Close();
  admission.WaitIdle(kForever);
  StopListening();
  EndCalls().wait();
}

void Server::Impl::WatchLoad() {
  const Admission::Usage held = admission.usage();
  const bool is_full = saturation.Sample(held);
  if (is_full != was_full) health.SetServingStatus(kAdmissionHealthName, !is_full);
  was_full = is_full;
  // Connections may come and go between two samples.
  peak.NotePeak(edge->TakeMostOpen());
  const bool is_after_peak = peak.Sample(edge->counters().open, held.requests, clock.Now());
  if (is_after_peak && trim_heap) trim_heap();
}

void Server::Impl::RemoveSocketFiles() {
  region_socket.reset();
  edge->RemoveSocketFiles();
  if (metrics_listener != nullptr) metrics_listener->RemoveSocketFile();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      const ServerEnvironment& environment) {
  std::unique_ptr<Impl> impl;
  try {
    TryThreads(WorkersOf(options) + PollersOf(options) + EventThreads() + kOtherThreads);
    impl = std::make_unique<Impl>(options, environment);
    if (absl::Status status = impl->Listen(); !status.ok()) return status;
    // Those of the start: GPUs join later, whenever that is.
    const std::string devices = DeviceNames(impl->pool);
    // Not before: a server that cannot listen need not wait for a driver.
    if (impl->pool.has_gpus()) impl->leases.Start(impl->leasable);
    impl->pool.StartMaintenance();
    impl->LogStart(devices);
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const std::exception& error) {
    // gRPC's server must be shut down, however far its pollers are.
    if (impl != nullptr && impl->server != nullptr) impl->End();
    return absl::ResourceExhaustedError(
        absl::StrCat("there is no thread or memory for it: ", error.what()));
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { impl_->End(); }

const std::vector<std::string>& Server::addresses() const { return impl_->addresses; }

int Server::port() const { return impl_->port; }

std::string Server::metrics_address() const {
  return impl_->metrics_listener == nullptr ? std::string()
                                            : impl_->metrics_listener->address().ToString();
}

EdgeCounters Server::connections() const { return impl_->edge->counters(); }

Admission::Usage Server::usage() const { return impl_->admission.usage(); }

void Server::ReopenLogs() {
  for (LineFile* const file :
       {impl_->access_file.get(), impl_->trace_file.get(), impl_->audit_file.get()}) {
    if (file == nullptr) continue;
    const absl::Status status = file->Reopen();
    if (status.ok()) {
      impl_->logger.Log(LogLevel::kInfo, "log reopened", {{"log", file->title()}});
    } else {
      impl_->logger.Log(LogLevel::kError, "log kept",
                        {{"log", file->title()}, {"reason", status.message()}});
    }
  }
}

bool Server::FlushLogs(milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  bool are_flushed = true;
  for (LineFile* const file :
       {impl_->audit_file.get(), impl_->access_file.get(), impl_->trace_file.get()}) {
    if (file == nullptr) continue;
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    const bool is_flushed = file->Flush(std::max(left, milliseconds(0)));
    if (is_flushed) continue;
    are_flushed = false;
    impl_->logger.Log(LogLevel::kWarn, "log lines not written",
                      {{"log", file->title()}, {"limit_ms", limit.count()}});
  }
  return are_flushed;
}

absl::Status Server::ReloadFiles() {
  if (!impl_->file_thread) return absl::OkStatus();
  // Shared, because the task touches it for a moment after the value is known.
  const auto read = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> result = read->get_future();
  // The thread that reads them in any case.
  impl_->file_thread->Start("", 0, [impl = impl_.get(), read] {
    absl::Status status = impl->access->Reload();
    status.Update(impl->identity_files.Reload());
    impl->AuditReload(status);
    read->set_value(status);
  });
  return result.get();
}

DrainResult Server::Drain(milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  const Admission::Usage held = usage();
  impl_->logger.Log(
      LogLevel::kInfo, "draining",
      {{"requests", held.requests}, {"bytes", held.bytes}, {"timeout_ms", timeout.count()}});
  impl_->HurryClients();
  // For good: a GPU that comes back changes nothing any more.
  impl_->health.Shutdown();
  // Requests that wait for the end of a lease are to be answered as well.
  impl_->leases.Close();
  impl_->admission.Close();
  const Admission::Wait wait = impl_->admission.WaitIdle(timeout);
  if (wait != Admission::Wait::kIdle) {
    impl_->RemoveSocketFiles();
    return wait == Admission::Wait::kTimedOut ? DrainResult::kTimedOut : DrainResult::kInterrupted;
  }
  impl_->admission.WaitQuiet(kQuiet, kMostQuietWait);
  impl_->StopListening();
  const DrainResult result =
      impl_->WaitForCalls(std::max(end, std::chrono::steady_clock::now() + kCallGrace));
  if (result == DrainResult::kComplete) impl_->logger.Log(LogLevel::kInfo, "drained");
  return result;
}

bool Server::Responds(milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const std::unique_ptr<Poller>& poller : impl_->pollers) {
    const auto left = end - std::chrono::steady_clock::now();
    if (!poller->Responds(std::max(milliseconds(0), std::chrono::ceil<milliseconds>(left)))) {
      return false;
    }
  }
  return true;
}

void Server::InterruptDrain() { impl_->admission.Interrupt(); }

}  // namespace opserve
