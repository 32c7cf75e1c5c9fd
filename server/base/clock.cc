#include "server/base/clock.h"

namespace opserve {
namespace {

class SteadyClockImpl final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& SteadyClock() {
  static const SteadyClockImpl clock;
  return clock;
}

}  // namespace opserve
