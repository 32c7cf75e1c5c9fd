#include "server/metrics/http_access.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/rate_limiter.h"

namespace opserve {
namespace {

CallProof ProofOf(const HttpRequest& request) {
  CallProof proof;
  proof.peer = request.sender.peer;
  proof.authorization = request.authorization;
  proof.has_authorization = request.has_authorization;
  proof.is_ambiguous = request.is_ambiguous;
  proof.certificate = request.sender.certificate;
  proof.has_certificate = request.sender.has_certificate;
  return proof;
}

}  // namespace

HttpHandler ForObservers(const AccessControl& access, Logger& logger, HttpHandler handler) {
  auto denials = std::make_shared<RateLimiter>(SteadyClock(), std::chrono::seconds(1));
  return [&access, &logger, denials = std::move(denials),
          handler = std::move(handler)](const HttpRequest& request) {
    const absl::StatusOr<Caller> caller = access.Identify(ProofOf(request));
    const absl::Status status = caller.ok() ? caller->Check(Role::kObserve) : caller.status();
    if (status.ok()) return handler(request);
    if (const auto held_back = denials->Pass()) {
      logger.Log(
          LogLevel::kWarn, "page denied",
          {{"path", request.path},
           {"client", caller.ok() ? std::string(caller->identity()) : request.sender.peer.Host()},
           {"code", absl::StatusCodeToString(status.code())},
           {"message", status.message()},
           {"not_logged", *held_back}});
    }
    return HttpAnswer{.status = absl::IsPermissionDenied(status) ? 403 : 401,
                      .body = absl::StrCat(status.message(), "\n")};
  };
}

}  // namespace opserve
