#include "server/errors/host_ids.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/random_id.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

constexpr char kSeparator = '@';

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != kSeparator && c != ','; });
}

}  // namespace

bool IsHostAddress(absl::string_view address) {
  if (address.size() > kMaxHostBytes || !IsPrintable(address)) return false;
  if (absl::ConsumePrefix(&address, "unix:")) return absl::StartsWith(address, "/");
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  const absl::string_view host = address.substr(0, colon);
  const bool is_bracketed = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (!is_bracketed && absl::StrContains(host, ':')) return false;
  int port = 0;
  return host != "0.0.0.0" && host != "[::]" &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 1 && port <= 65535;
}

std::string NewHostId(absl::string_view host) {
  std::string id = RandomId();
  if (!host.empty()) absl::StrAppend(&id, std::string(1, kSeparator), host);
  return id;
}

absl::Status NotFoundHere(absl::string_view id, absl::string_view host, absl::Status not_found) {
  const size_t separator = id.find(kSeparator);
  if (separator == absl::string_view::npos) return not_found;
  const absl::string_view named = id.substr(separator + 1);
  if (named == host || !IsHostAddress(named)) return not_found;
  return MakeError(ErrorReason::WRONG_HOST,
                   absl::StrCat("\"", id.substr(0, std::min(separator, kRandomIdLength)),
                                "\" belongs to the host ", named, ", and this is ",
                                host.empty() ? "another one" : host, "."),
                   {{"host", std::string(named)}});
}

}  // namespace opserve
