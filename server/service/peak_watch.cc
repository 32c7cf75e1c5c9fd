#include "server/service/peak_watch.h"

#include <algorithm>
#include <utility>

namespace opserve {

bool PeakWatch::Sample(size_t connections, size_t requests, Clock::TimePoint now) {
  NotePeak(connections);
  const size_t most = std::exchange(most_, 0);
  const size_t last = std::exchange(last_connections_, connections);
  peak_ = std::max(peak_, most);
  const bool is_steady = last == connections && most == connections;
  if (!is_steady || requests > 0) rest_begin_ = now;
  const bool is_over = peak_ >= kLeastPeak && connections <= peak_ / kFall;
  if (!is_over || now < rest_begin_ + kRest || now < next_end_) return false;
  peak_ = connections;
  next_end_ = now + kPause;
  return true;
}

}  // namespace opserve
