#include "client/rpc/force_release.h"

#include <grpcpp/completion_queue.h>

#include <chrono>

namespace opserve::client_internal {

bool WorkUntilReleased(PayloadHold& hold, absl::Duration limit) {
  constexpr auto kStep = std::chrono::milliseconds(2);
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  grpc::CompletionQueue queue;
  void* tag;
  bool ok;
  while (!hold.IsReleased() && std::chrono::steady_clock::now() < end) {
    queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kStep);
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  return hold.IsReleased();
}

bool ForceRelease(PayloadHold& hold, const ClientConnection& connection) {
  connection.sockets->ShutDown();
  return WorkUntilReleased(hold, kGrace);
}

void ForceReleaseLater(Watchdog& watchdog, const std::shared_ptr<PayloadHold>& hold,
                       const ClientConnection& connection) {
  watchdog.RunAfter(kGrace, [&watchdog, hold, &connection] {
    if (hold->IsReleased() || ForceRelease(*hold, connection)) return;
    ForceReleaseLater(watchdog, hold, connection);
  });
}

}  // namespace opserve::client_internal
