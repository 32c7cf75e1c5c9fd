#include "server/rpc/call_context.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "server/access/caller.h"
#include "server/edge/peer_identity.h"

namespace opserve {
namespace {

constexpr absl::string_view kAuthorizationKey = "authorization";

// The only value of `key`. What is there more than once sets `is_ambiguous`.
bool FindOnly(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
              absl::string_view key, absl::string_view& value, bool& is_ambiguous) {
  bool is_there = false;
  // Of the few that there are, sizes alone tell nearly all apart: quicker than the map's order.
  for (const auto& [name, text] : metadata) {
    if (absl::string_view(name.data(), name.size()) != key) continue;
    is_ambiguous |= is_there;
    if (!is_there) value = absl::string_view(text.data(), text.size());
    is_there = true;
  }
  return is_there;
}

// The name in the certificate of the client, which gRPC has verified: the subject's common name, or
// else the first DNS name; empty where it has neither.
std::string NameInCertificate(const grpc::AuthContext& connection) {
  for (const char* const property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : connection.FindPropertyValues(property)) {
      if (!value.empty()) return std::string(value.data(), value.size());
    }
  }
  return "";
}

}  // namespace

CallProof ProofOf(const grpc::ServerContext& context, absl::string_view peer,
                  bool has_certificates) {
  CallProof proof;
  proof.peer = IdentityOf(peer);
  const auto& metadata = context.client_metadata();
  proof.has_name = FindOnly(metadata, kClientNameKey, proof.name, proof.is_ambiguous);
  proof.has_authorization =
      FindOnly(metadata, kAuthorizationKey, proof.authorization, proof.is_ambiguous);
  if (!has_certificates) return proof;
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  proof.has_certificate = connection != nullptr && connection->IsPeerAuthenticated();
  if (proof.has_certificate) proof.certificate = NameInCertificate(*connection);
  return proof;
}

std::string TraceParentOf(const grpc::ServerContext& context) {
  absl::string_view value;
  bool is_ambiguous = false;
  FindOnly(context.client_metadata(), "traceparent", value, is_ambiguous);
  return is_ambiguous ? "" : std::string(value);
}

Clock::TimePoint TimeOf(gpr_timespec time, gpr_timespec grpc_now, Clock::TimePoint now) {
  const gpr_timespec monotonic = gpr_convert_clock_type(time, GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = gpr_time_sub(monotonic, grpc_now);
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(Clock::kNever - now);
  if (left.tv_sec >= most.count()) return Clock::kNever;
  // What has passed for long has passed.
  if (left.tv_sec <= -most.count()) return Clock::TimePoint::min();
  return now + std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

Clock::TimePoint DeadlineOf(const grpc::ServerContext& context) {
  // The two clocks go alike, so that it need not be asked each time how far they are apart.
  struct Moment {
    gpr_timespec by_grpc = gpr_now(GPR_CLOCK_MONOTONIC);
    Clock::TimePoint by_server = SteadyClock().Now();
  };
  static const Moment moment;
  return TimeOf(context.raw_deadline(), moment.by_grpc, moment.by_server);
}

}  // namespace opserve
