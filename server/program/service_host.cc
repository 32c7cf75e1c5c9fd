// Service managers such as systemd start a program like everybody else: service_notifier.h tells
// them more.

#include "server/program/service_host.h"

#include <cstdlib>

namespace opserve {

bool RouteServiceLog() { return true; }

int RunHosted(const std::function<int()>& run) { return run(); }

void EndNow(int code) { std::_Exit(code); }

}  // namespace opserve
