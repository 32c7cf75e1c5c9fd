#include "client/cli/run_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"

namespace opserve::cli {

std::string ShowExecution(const ExecutionInfo& info) {
  std::string text = absl::StrCat("device: ", info.device, ", batch of ", info.batch_size, ", ",
                                  info.attempts, info.attempts == 1 ? " attempt, " : " attempts, ",
                                  info.verified ? "verified" : "not verified");
  if (info.path == PayloadPath::kSharedMemory) absl::StrAppend(&text, ", in shared memory");
  if (info.sends > 1) absl::StrAppend(&text, ", sent ", info.sends, " times");
  return text;
}

std::string ShowTimes(const ExecutionInfo& info, absl::Duration round_trip) {
  return absl::StrCat("ran for ", ShowDuration(info.run_time), ", queued for ",
                      ShowDuration(info.queue_time), ", round trip ", ShowDuration(round_trip));
}

nlohmann::ordered_json ToJson(const ExecutionInfo& info, absl::Duration round_trip) {
  return {{"device", info.device},
          {"batch_size", info.batch_size},
          {"queue_time_ns", absl::ToInt64Nanoseconds(info.queue_time)},
          {"run_time_ns", absl::ToInt64Nanoseconds(info.run_time)},
          {"round_trip_ns", absl::ToInt64Nanoseconds(round_trip)},
          {"attempts", info.attempts},
          {"verified", info.verified},
          {"sends", info.sends},
          {"path", std::string(NameOf(info.path))}};
}

}  // namespace opserve::cli
