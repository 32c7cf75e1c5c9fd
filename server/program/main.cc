// opserve-server: flags, signals, wiring.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/broken_pipe.h"
#include "server/base/log.h"
#include "server/base/task_thread.h"
#include "server/edge/descriptor_limit.h"
#include "server/program/control_command.h"
#include "server/program/gpu_sources.h"
#include "server/program/printed.h"
#include "server/program/process_tuning.h"
#include "server/program/program_options.h"
#include "server/program/ready_file.h"
#include "server/program/service_host.h"
#include "server/program/service_notifier.h"
#include "server/program/stop_signals.h"
#include "server/program/token_command.h"
#include "server/rpc/library_log.h"
#include "server/service/server.h"

namespace opserve {
namespace {

// The codes that --help lists.
constexpr int kExitCannotStart = 1;
constexpr int kExitDrainTimedOut = 3;
constexpr int kExitDrainInterrupted = 4;

// Longest wait, after a complete drain, for drivers that are loaded or make a device just then.
constexpr std::chrono::seconds kDriverGrace{2};

// Longest wait for a file to take the lines of logs that requests have left.
constexpr std::chrono::seconds kLogGrace{1};

// The thread that waits for the end has nothing else to do.
constexpr std::chrono::hours kIdlePeriod{24};

int FailToStart(Logger& logger, const absl::Status& why) {
  logger.Log(LogLevel::kError, "cannot start", {{"reason", why.message()}});
  return kExitCannotStart;
}

// Ends a drained server, in `thread`. A driver that does not return does not keep the program.
void Destroy(std::unique_ptr<Server> server, TaskThread& thread, Logger& logger) {
  std::promise<void> destroyed;
  thread.Start("", 0, [&] {
    server = nullptr;
    destroyed.set_value();
  });
  if (destroyed.get_future().wait_for(kDriverGrace) == std::future_status::ready) return;
  logger.Log(LogLevel::kWarn, "exit while a driver is busy", {{"code", EXIT_SUCCESS}});
  EndNow(EXIT_SUCCESS);
}

// Waits for the signal to stop, and does meanwhile what others ask for.
void WaitForStop(StopSignals& signals, Server& server, const ServiceNotifier& notifier,
                 Logger& logger) {
  while (true) {
    const int signal = signals.Wait();
    logger.Log(LogLevel::kInfo, "signal received", {{"signal", signal}});
    if (signal != kReloadSignal) return;
    notifier.Reloading();
    // The log tells how it went.
    server.ReloadFiles().IgnoreError();
    server.ReopenLogs();
    notifier.Ready();
  }
}

// Tells the service manager that the server works, as long as all its pollers take events: a thread
// that did so by itself would hide that they are stuck. nullptr where the manager does not ask.
std::unique_ptr<TaskThread> StartWatchdog(Server& server, const ServiceNotifier& notifier,
                                          Logger& logger) {
  if (!notifier.watchdog()) return nullptr;
  // Three tries within the time, the waits for the pollers included.
  const auto part =
      std::max(std::chrono::duration_cast<std::chrono::milliseconds>(*notifier.watchdog() / 6),
               std::chrono::milliseconds(1));
  return std::make_unique<TaskThread>("watchdog", part, [&server, &notifier, &logger, part] {
    if (server.Responds(part)) return notifier.Alive();
    logger.Log(LogLevel::kError, "pollers are stuck", {{"limit_ms", part.count()}});
  });
}

// Throws where there is no thread or memory for what it begins with.
int Serve(const ProgramOptions& options, const ServiceNotifier& notifier, Logger& logger) {
  // What it takes to end must be there before anything can use the last thread up.
  StopSignals signals;
  TaskThread destroyer("end", kIdlePeriod, [] {});
  absl::StatusOr<GpuFinder> find_gpus = MakeGpuFinder(options.gpu, logger);
  if (!find_gpus.ok()) return FailToStart(logger, find_gpus.status());
  auto server =
      Server::Start(options.server,
                    {.logger = &logger, .find_gpus = *std::move(find_gpus), .trim_heap = TrimHeap});
  if (!server.ok()) return FailToStart(logger, server.status());
  std::optional<ReadyFile> ready_file;
  if (!options.ready_file.empty()) {
    auto created = ReadyFile::Create(options.ready_file, (*server)->addresses());
    if (!created.ok()) return FailToStart(logger, created.status());
    ready_file.emplace(*std::move(created));
  }

  {
    const std::unique_ptr<TaskThread> watchdog = StartWatchdog(**server, notifier, logger);
    notifier.Ready();
    WaitForStop(signals, **server, notifier, logger);
  }
  notifier.Stopping();
  signals.OnNext([&](int) { (*server)->InterruptDrain(); });
  const DrainResult result = (*server)->Drain(options.drain_timeout);
  // There may soon be no server whose drain a signal could end.
  signals.Ignore();
  ready_file.reset();
  // Not all ways out of here lead through destructors, which wait for them, too.
  const bool are_logs_flushed = (*server)->FlushLogs(kLogGrace);
  if (result == DrainResult::kComplete) {
    if (are_logs_flushed) Destroy(*std::move(server), destroyer, logger);
    logger.Log(LogLevel::kInfo, "exit", {{"code", EXIT_SUCCESS}});
    // The server's destructor would wait for the file that stalls.
    if (!are_logs_flushed) EndNow(EXIT_SUCCESS);
    return EXIT_SUCCESS;
  }
  const bool timed_out = result == DrainResult::kTimedOut;
  const int code = timed_out ? kExitDrainTimedOut : kExitDrainInterrupted;
  logger.Log(LogLevel::kError, "exit before all accepted requests were answered",
             {{"cause", timed_out ? "drain timed out" : "second signal"}, {"code", code}});
  // Not through destructors: they would wait for the very requests that did not end.
  EndNow(code);
}

int ServeOrFail(const ProgramOptions& options, Logger& logger) {
  try {
    return Serve(options, ServiceNotifier::OfEnvironment(), logger);
  } catch (const std::exception& error) {
    return FailToStart(logger, absl::ResourceExhaustedError(absl::StrCat(
                                   "there is no thread or memory for it: ", error.what())));
  }
}

// Says what an end without a server has to say; the exit code.
int End(const EarlyExit& exit) {
  const EarlyExit done = exit.code == 0 ? Printed(exit.text, std::cout) : exit;
  std::cerr << done.text;
  return done.code;
}

}  // namespace
}  // namespace opserve

int main(int argc, char** argv) {
  if (!opserve::RouteServiceLog()) {
    std::cerr << "opserve-server: cannot open the file that OPSERVE_SERVICE_LOG names\n";
    return opserve::kExitUsage;
  }
  if (opserve::IsTokenCommand(argc, argv)) {
    // A new token that nobody reads is to be removed again.
    opserve::BlockBrokenPipe();
    const opserve::EarlyExit done =
        opserve::RunTokenCommand(argc - 1, argv + 1, absl::Now(), std::cout);
    std::cerr << done.text;
    return done.code;
  }
  if (opserve::IsControlCommand(argc, argv)) {
    return opserve::End(opserve::RunControlCommand(argc, argv));
  }
  auto parsed = opserve::ParseProgramOptions(argc, argv);
  if (const auto* exit = std::get_if<opserve::EarlyExit>(&parsed)) return opserve::End(*exit);
  const auto& options = std::get<opserve::ProgramOptions>(parsed);
  if (options.list_devices) return opserve::End({0, opserve::DescribeAdapters()});
  opserve::KeepHeap(options.keep_heap_bytes);
  opserve::StopDeadlockSearch();
  opserve::RaiseDescriptorLimit();
  // The log goes on where whoever reads it ends. All threads inherit it, and there are none yet.
  opserve::BlockBrokenPipe();
  static opserve::Logger logger(options.log_format, options.log_level);
  opserve::RouteLibraryLogs(logger);
  return opserve::RunHosted([&options] { return opserve::ServeOrFail(options, logger); });
}
