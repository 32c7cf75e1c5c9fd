#include "server/execute/run_progress.h"

#include <utility>

namespace opserve {

void RunProgress::TakeAhead(ReceivedMessage payloads, HostBufferPool& buffers) {
  ahead_ = std::move(payloads);
  ahead_bytes_ = ahead_.Payloads(buffers);
}

}  // namespace opserve
