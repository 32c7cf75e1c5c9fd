#include <csignal>

#include "client/cli/interrupt.h"

namespace opserve::cli {
namespace {

std::atomic<std::atomic<bool>*> caught = nullptr;

}  // namespace

void CatchInterrupt(std::atomic<bool>& interrupted) {
  caught = &interrupted;
  // The C library takes the handler back before it calls it.
  std::signal(SIGINT, [](int) { *caught.load() = true; });
}

}  // namespace opserve::cli
