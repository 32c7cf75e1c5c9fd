#include "server/service/peak_watch.h"

#include <algorithm>
#include <utility>

namespace opserve {

bool PeakWatch::Sample(size_t connections, size_t requests, Clock::TimePoint now) {
  peak_ = std::max(peak_, connections);
  const bool is_steady = std::exchange(last_connections_, connections) == connections;
  if (!is_steady || requests > 0) rest_begin_ = now;
  const bool is_over = peak_ >= kLeastPeak && connections <= peak_ / kFall;
  if (!is_over || now < rest_begin_ + kRest || now < next_end_) return false;
  peak_ = connections;
  next_end_ = now + kPause;
  return true;
}

}  // namespace opserve
