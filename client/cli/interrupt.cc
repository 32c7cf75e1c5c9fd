#include "client/cli/interrupt.h"

#include <csignal>

namespace opserve::cli {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
std::atomic<std::atomic<bool>*> caught = nullptr;

}  // namespace

void CatchInterrupt(std::atomic<bool>& interrupted) {
  caught = &interrupted;
  struct sigaction action = {};
  action.sa_handler = [](int) { *caught.load() = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace opserve::cli
