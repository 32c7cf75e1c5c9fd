#include "server/rpc/call_context.h"

#include <chrono>

#include "absl/strings/string_view.h"
#include "server/client_identity.h"

namespace opserve {

std::string ClientOf(const grpc::ServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto name = metadata.find(kClientNameKey);
  const absl::string_view text = name == metadata.end()
                                     ? absl::string_view()
                                     : absl::string_view(name->second.data(), name->second.size());
  return ClientIdentity(context.peer(), text);
}

Clock::TimePoint DeadlineOf(const grpc::ServerContext& context) {
  // gRPC tells deadlines in calendar time; all else here is monotonic.
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return Clock::kNever;
  const Clock::TimePoint now = SteadyClock().Now();
  const Clock::Duration left = deadline - std::chrono::system_clock::now();
  return left < Clock::kNever - now ? now + left : Clock::kNever;
}

}  // namespace opserve
