#include "server/program/lease_options.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

namespace opserve {

void AddDeviceLeaseOptions(CLI::App& app, DeviceLeaseLimits& limits) {
  app.add_option_function<std::string>(
         "--device-leases", [&limits](const std::string& text) { limits.is_on = text == "on"; },
         "Whether clients may lease GPUs, to have them to themselves: on or off")
      ->type_name("SWITCH")
      ->default_str(limits.is_on ? "on" : "off")
      ->check(CLI::IsMember({"off", "on"}).description(""));
  app.add_option_function<uint64_t>(
         "--max-device-lease",
         [&limits](const uint64_t& time) { limits.max_time = std::chrono::seconds(time); },
         "Longest time that a lease of a GPU lasts, renewals included, 1 to 86400")
      ->type_name("SECONDS")
      ->default_str(absl::StrCat(limits.max_time.count()))
      ->check(CLI::Range(uint64_t{1}, uint64_t{86400}).description(""));
  app.add_option("--max-device-leases-per-client", limits.max_per_client,
                 "Most leases of GPUs that one client holds and waits for, 1 to 256")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{256}).description(""));
}

}  // namespace opserve
