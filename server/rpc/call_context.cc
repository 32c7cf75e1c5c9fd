#include "server/rpc/call_context.h"

#include <chrono>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "grpc/support/time.h"
#include "server/edge/peer_identity.h"

namespace opserve {
namespace {

// "10.0.0.7" of "ipv4:10.0.0.7:41234", or the user behind a socket file. Anything else stays as it
// is.
std::string HostOf(absl::string_view peer) {
  const std::optional<PeerIdentity> identity = IdentityOf(peer);
  return identity ? identity->Host() : std::string(peer);
}

}  // namespace

std::string ClientIdentity(absl::string_view peer, absl::string_view name) {
  std::string host = HostOf(peer);
  if (name.empty()) return host;
  return absl::StrCat(host, "/", name.substr(0, kMaxClientNameBytes));
}

std::string ClientOf(const grpc::ServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto name = metadata.find(kClientNameKey);
  const absl::string_view text = name == metadata.end()
                                     ? absl::string_view()
                                     : absl::string_view(name->second.data(), name->second.size());
  return ClientIdentity(context.peer(), text);
}

std::string TraceParentOf(const grpc::ServerContext& context) {
  const auto [first, end] = context.client_metadata().equal_range("traceparent");
  if (first == end || std::next(first) != end) return "";
  return std::string(first->second.data(), first->second.size());
}

Clock::TimePoint DeadlineOf(const grpc::ServerContext& context) {
  const gpr_timespec raw = context.raw_deadline();
  // gRPC has it by the clock that SteadyClock() reads; otherwise this converts it.
  const gpr_timespec deadline = gpr_convert_clock_type(raw, GPR_CLOCK_MONOTONIC);
  constexpr auto kMost =
      std::chrono::duration_cast<std::chrono::seconds>(Clock::kNever.time_since_epoch());
  if (deadline.tv_sec >= kMost.count()) return Clock::kNever;
  return Clock::TimePoint(std::chrono::seconds(deadline.tv_sec) +
                          std::chrono::nanoseconds(deadline.tv_nsec));
}

}  // namespace opserve
