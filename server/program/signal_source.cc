#include "server/program/signal_source.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <utility>

#include "proto/base/named_thread.h"

namespace opserve {
namespace {

static_assert(kReloadSignal == SIGHUP);

// Ends the thread when nobody will send it a signal any more.
constexpr int kWakeUp = SIGUSR1;

}  // namespace

struct SignalSource::Impl {
  explicit Impl(std::function<void(int)> what_to_do) : take(std::move(what_to_do)) {
    sigemptyset(&signals);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    sigaddset(&signals, kWakeUp);
    // Threads inherit the mask; the wake-up is blocked only where it is waited for.
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    thread = StartThread("signals", [this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Impl() {
    is_ending = true;
    pthread_kill(thread.native_handle(), kWakeUp);
    thread.join();
  }

  void Run() {
    while (true) {
      int signal = 0;
      sigwait(&signals, &signal);
      if (is_ending) return;
      if (signal != kWakeUp) take(signal);
    }
  }

  const std::function<void(int)> take;
  sigset_t signals;
  std::atomic<bool> is_ending = false;
  std::thread thread;
};

SignalSource::SignalSource(std::function<void(int)> take)
    : impl_(std::make_unique<Impl>(std::move(take))) {}

SignalSource::~SignalSource() = default;

}  // namespace opserve
