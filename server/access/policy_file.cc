#include "server/access/policy_file.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/base/small_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include "toml++/toml.h"

namespace opserve {
namespace {

// The last two are for the key `open`.
constexpr int kNamedRoles = 5;

// Reads one file; the first error ends it.
class PolicyReader {
 public:
  explicit PolicyReader(const std::string& file) : file_(file) {}

  absl::StatusOr<AccessPolicy> Read(absl::string_view text) {
    const toml::parse_result parsed = toml::parse(std::string_view(text.data(), text.size()));
    if (!parsed) {
      return Error(parsed.error().source(), std::string(parsed.error().description()));
    }
    const toml::table& top = parsed.table();
    if (absl::Status status = CheckKeys(top, {"open", "anonymous", "client"}); !status.ok()) {
      return status;
    }
    if (absl::Status status = ReadOpen(top); !status.ok()) return status;
    AccessGrant anonymous;
    anonymous.is_anonymous = true;
    OpenTo(anonymous);
    if (const toml::node* const node = top.get("anonymous"); node != nullptr) {
      const toml::table* const table = node->as_table();
      if (table == nullptr) return WrongType(*node, "anonymous", "a table: [anonymous]");
      if (absl::Status status = ReadGrant(*table, false, anonymous); !status.ok()) return status;
    }
    std::vector<AccessPolicy::Rule> rules;
    if (absl::Status status = ReadClients(top, rules); !status.ok()) return status;
    return AccessPolicy(std::move(rules), std::make_shared<AccessGrant>(anonymous));
  }

 private:
  absl::Status Error(const toml::source_region& where, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":", static_cast<uint64_t>(where.begin.line), ": ", what));
  }

  absl::Status WrongType(const toml::node& node, absl::string_view key,
                         absl::string_view allowed) const {
    return Error(node.source(), absl::StrCat(key, " must be ", allowed));
  }

  absl::Status CheckKeys(const toml::table& table, const std::vector<std::string>& allowed) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) continue;
      return Error(key.source(), absl::StrCat("unknown key \"", name, "\"; allowed are ",
                                              absl::StrJoin(allowed, ", ")));
    }
    return absl::OkStatus();
  }

  // The strings of a list, each of which must be one of `allowed`, which holds them by number.
  absl::Status ReadNames(const toml::node& node, absl::string_view key,
                         const std::vector<std::string>& allowed, std::set<size_t>& out) const {
    const std::string rule = absl::StrCat("a list of \"", absl::StrJoin(allowed, "\", \""), "\"");
    const toml::array* const list = node.as_array();
    if (list == nullptr) return WrongType(node, key, rule);
    for (const toml::node& item : *list) {
      const toml::value<std::string>* const text = item.as_string();
      if (text == nullptr) return WrongType(item, key, rule);
      const auto found = std::find(allowed.begin(), allowed.end(), text->get());
      if (found == allowed.end()) {
        return Error(item.source(), absl::StrCat("unknown value \"", text->get(), "\" of ", key,
                                                 "; it must be ", rule));
      }
      out.insert(static_cast<size_t>(found - allowed.begin()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOpen(const toml::table& top) {
    const toml::node* const node = top.get("open");
    if (node == nullptr) return absl::OkStatus();
    std::set<size_t> open;
    const std::vector<std::string> services = {std::string(NameOf(Role::kHealth)),
                                               std::string(NameOf(Role::kReflection))};
    if (absl::Status status = ReadNames(*node, "open", services, open); !status.ok()) return status;
    health_is_open_ = open.count(0) > 0;
    reflection_is_open_ = open.count(1) > 0;
    return absl::OkStatus();
  }

  // What is not open to all is for those who may observe.
  void OpenTo(AccessGrant& grant) const {
    const bool observes = grant.roles.Has(Role::kObserve);
    if (health_is_open_ || observes) grant.roles.Add(Role::kHealth);
    if (reflection_is_open_ || observes) grant.roles.Add(Role::kReflection);
  }

  absl::Status ReadGrant(const toml::table& table, bool is_client, AccessGrant& grant) const {
    std::vector<std::string> keys = {"roles",
                                     "weight",
                                     "max_priority",
                                     "max_concurrent_requests",
                                     "max_queued_bytes",
                                     "max_requests_per_second",
                                     "max_bytes_per_second",
                                     "max_streams",
                                     "max_device_ms_per_second",
                                     "max_resident_bytes",
                                     "max_resident_tensors",
                                     "max_connections",
                                     "max_region_bytes",
                                     "max_regions"};
    if (is_client) keys.insert(keys.begin(), "match");
    if (absl::Status status = CheckKeys(table, keys); !status.ok()) return status;
    const toml::node* const node = table.get("roles");
    if (node == nullptr) return Error(table.source(), "roles is missing; [] is allowed");
    std::vector<std::string> names;
    for (int i = 0; i < kNamedRoles; ++i) names.emplace_back(NameOf(static_cast<Role>(i)));
    std::set<size_t> roles;
    if (absl::Status status = ReadNames(*node, "roles", names, roles); !status.ok()) return status;
    for (const size_t role : roles) grant.roles.Add(static_cast<Role>(role));
    OpenTo(grant);
    return ReadShare(table, grant);
  }

  // A number from `least` to `most`, or, where it counts bytes, also text such as "64MiB".
  absl::Status ReadNumber(const toml::table& table, absl::string_view key, double least,
                          double most, bool is_bytes, double& out) const {
    const toml::node* const node = table.get(std::string_view(key.data(), key.size()));
    if (node == nullptr) return absl::OkStatus();
    std::optional<double> number;
    if (node->is_number()) number = node->value<double>();
    if (is_bytes && node->is_string()) number = BytesOf(node->as_string()->get());
    if (number && *number >= least && *number <= most) {
      out = *number;
      return absl::OkStatus();
    }
    return WrongType(
        *node, key,
        absl::StrCat("a number from ", TextOf(least), " to ", TextOf(most),
                     is_bytes ? ", or text such as \"64MiB\"" : "", ", not ", TextOf(*node)));
  }

  // The same, of a whole number that need not be there.
  template <class T>
  absl::Status ReadCount(const toml::table& table, absl::string_view key, double least, double most,
                         bool is_bytes, std::optional<T>& out) const {
    double number = -1;
    absl::Status status = ReadNumber(table, key, least, most, is_bytes, number);
    if (status.ok() && number >= 0) out = static_cast<T>(number);
    return status;
  }

  // Without an exponent where that is possible.
  static std::string TextOf(double number) {
    constexpr double kMostExact = 9007199254740992.0;
    if (number != std::floor(number) || number > kMostExact) return absl::StrCat(number);
    return absl::StrCat(static_cast<int64_t>(number));
  }

  // A value as the file has it, or what it is.
  static std::string TextOf(const toml::node& node) {
    constexpr size_t kMostBytes = 64;
    if (const auto* const text = node.as_string()) {
      return absl::StrCat("\"", absl::string_view(text->get()).substr(0, kMostBytes), "\"");
    }
    if (const auto* const number = node.as_integer()) return absl::StrCat(number->get());
    if (const auto* const number = node.as_floating_point()) return absl::StrCat(number->get());
    if (const auto* const truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (node.is_array()) return "a list";
    return node.is_table() ? "a table" : "a time";
  }

  // The bytes that a text such as "64MiB" means.
  static std::optional<double> BytesOf(absl::string_view text) {
    constexpr std::pair<absl::string_view, double> kUnits[] = {
        {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
    double unit = 1;
    for (const auto& [name, bytes] : kUnits) {
      if (absl::ConsumeSuffix(&text, name)) unit = bytes;
    }
    uint64_t count = 0;
    if (!absl::SimpleAtoi(text, &count)) return std::nullopt;
    return static_cast<double>(count) * unit;
  }

  absl::Status ReadShare(const toml::table& table, AccessGrant& grant) const {
    constexpr double kMostRequests = 1e6;
    constexpr double kMostBytes = 1099511627776.0;  // 1 TiB, which a double holds exactly
    double requests = kMostRequests + 1;
    double bytes = kMostBytes + 1;
    double streams = kMostRequests + 1;
    const struct {
      absl::string_view key;
      double least;
      double most;
      bool is_bytes;
      double& out;
    } numbers[] = {
        {"weight", 0.001, 1e6, false, grant.weight},
        {"max_concurrent_requests", 1, kMostRequests, false, requests},
        {"max_queued_bytes", 4096, kMostBytes, true, bytes},
        {"max_requests_per_second", 0.001, 1e9, false, grant.share.requests_per_second},
        {"max_bytes_per_second", 1, 1e15, true, grant.share.bytes_per_second},
        {"max_streams", 1, kMostRequests, false, streams},
        {"max_device_ms_per_second", 1, 1e6, false, grant.share.device_ms_per_second},
    };
    for (const auto& each : numbers) {
      absl::Status status =
          ReadNumber(table, each.key, each.least, each.most, each.is_bytes, each.out);
      if (!status.ok()) return status;
    }
    for (const absl::Status& status :
         {ReadCount(table, "max_resident_bytes", 0, kMostBytes, true, grant.max_resident_bytes),
          ReadCount(table, "max_resident_tensors", 0, kMostRequests, false,
                    grant.max_resident_tensors),
          ReadCount(table, "max_connections", 1, kMostRequests, false, grant.max_connections),
          ReadCount(table, "max_region_bytes", 0, kMostBytes, true, grant.max_region_bytes),
          ReadCount(table, "max_regions", 0, kMostRequests, false, grant.max_regions)}) {
      if (!status.ok()) return status;
    }
    if (requests <= kMostRequests) grant.share.max_requests = static_cast<uint64_t>(requests);
    if (bytes <= kMostBytes) grant.share.max_bytes = static_cast<uint64_t>(bytes);
    if (streams <= kMostRequests) grant.streams.max_requests = static_cast<uint64_t>(streams);
    const toml::node* const node = table.get("max_priority");
    if (node == nullptr) return absl::OkStatus();
    const std::vector<std::string> classes = {"high", "normal", "low"};
    const toml::value<std::string>* const text = node->as_string();
    const auto found =
        text == nullptr ? classes.end() : std::find(classes.begin(), classes.end(), text->get());
    if (found == classes.end()) {
      return WrongType(*node, "max_priority", "\"high\", \"normal\" or \"low\"");
    }
    grant.most_urgent = static_cast<uint8_t>(found - classes.begin());
    return absl::OkStatus();
  }

  absl::Status ReadMatch(const toml::table& table, std::vector<CallerPattern>& patterns) const {
    const toml::node* const node = table.get("match");
    if (node == nullptr) return Error(table.source(), "match is missing");
    const auto add = [&](const toml::node& item) {
      const toml::value<std::string>* const text = item.as_string();
      if (text == nullptr) return WrongType(item, "match", "a string, or a list of strings");
      const auto pattern = CallerPattern::Parse(text->get());
      if (!pattern.ok()) return Error(item.source(), pattern.status().message());
      patterns.push_back(*pattern);
      return absl::OkStatus();
    };
    const toml::array* const list = node->as_array();
    if (list == nullptr) return add(*node);
    for (const toml::node& item : *list) {
      if (absl::Status status = add(item); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Limits that no caller of the rule could ever meet are mistakes.
  absl::Status CheckReach(const toml::table& table,
                          const std::vector<CallerPattern>& patterns) const {
    const auto has = [&](bool (CallerPattern::*is)() const) {
      return std::any_of(patterns.begin(), patterns.end(),
                         [is](const CallerPattern& pattern) { return (pattern.*is)(); });
    };
    const struct {
      absl::string_view key;
      bool is_reached;
      absl::string_view needed;
    } limits[] = {
        {"max_connections", has(&CallerPattern::is_of_peers), "\"uid:...\" or \"address:...\""},
        {"max_region_bytes", has(&CallerPattern::is_of_users), "\"uid:...\""},
        {"max_regions", has(&CallerPattern::is_of_users), "\"uid:...\""},
    };
    for (const auto& limit : limits) {
      const toml::node* const node =
          table.get(std::string_view(limit.key.data(), limit.key.size()));
      if (node == nullptr || limit.is_reached) continue;
      return Error(node->source(),
                   absl::StrCat(limit.key,
                                " is of no use here: no certificate or token is known "
                                "where it is counted; match must have a pattern ",
                                limit.needed));
    }
    return absl::OkStatus();
  }

  absl::Status ReadClients(const toml::table& top, std::vector<AccessPolicy::Rule>& rules) const {
    const toml::node* const node = top.get("client");
    if (node == nullptr) return absl::OkStatus();
    constexpr absl::string_view kForm = "an array of tables: [[client]]";
    const toml::array* const list = node->as_array();
    if (list == nullptr) return WrongType(*node, "client", kForm);
    for (const toml::node& item : *list) {
      const toml::table* const table = item.as_table();
      if (table == nullptr) return WrongType(item, "client", kForm);
      AccessPolicy::Rule rule;
      if (absl::Status status = ReadMatch(*table, rule.patterns); !status.ok()) return status;
      AccessGrant grant;
      if (absl::Status status = ReadGrant(*table, true, grant); !status.ok()) return status;
      if (absl::Status status = CheckReach(*table, rule.patterns); !status.ok()) return status;
      rule.grant = std::make_shared<AccessGrant>(grant);
      rules.push_back(std::move(rule));
    }
    return absl::OkStatus();
  }

  const std::string& file_;
  bool health_is_open_ = true;
  bool reflection_is_open_ = true;
};

}  // namespace

absl::StatusOr<AccessPolicy> ParsePolicy(absl::string_view text, const std::string& file) {
  return PolicyReader(file).Read(text);
}

absl::StatusOr<AccessPolicy> ReadPolicyFile(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) return text.status();
  return ParsePolicy(*text, file);
}

}  // namespace opserve
