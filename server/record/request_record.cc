#include "server/record/request_record.h"

#include <exception>
#include <string>

#include "absl/strings/cord.h"
#include "opserve/rpc/status.pb.h"
#include "server/errors/errors.h"

namespace opserve {

std::optional<ErrorReason> ReasonOf(const absl::Status& status) {
  if (status.ok()) return std::nullopt;
  const absl::optional<absl::Cord> payload = status.GetPayload(kErrorInfoUrl);
  rpc::ErrorInfo info;
  if (!payload || !info.ParseFromString(std::string(*payload))) return std::nullopt;
  return ErrorReasonFromName(info.reason());
}

void ReportEnd(RequestObserver& observer, RequestRecord& record, const absl::Status& status,
               uint64_t bytes_out, const RequestSource& source) noexcept {
  record.total = SteadyClock().Now() - record.start;
  record.bytes_out = bytes_out;
  record.code = status.code();
  try {
    record.reason = ReasonOf(status);
  } catch (const std::exception&) {
    record.reason.reset();
  }
  observer.OnRequest(record, source);
}

void ReportSent(RequestObserver& observer, const RequestRecord& record) noexcept {
  observer.OnSent(record.method, SteadyClock().Now() - record.start - record.total);
}

}  // namespace opserve
