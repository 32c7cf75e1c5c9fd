#include "server/program/socket_options.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// "0660"; nullopt if it is no octal number up to 0777.
std::optional<mode_t> ParseMode(const std::string& text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  mode_t mode = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    mode = mode * 8 + static_cast<mode_t>(digit - '0');
  }
  return mode <= 0777 ? std::optional(mode) : std::nullopt;
}

}  // namespace

void AddSocketOptions(CLI::App& app, SocketFileAccess& access) {
  // Lives as long as the option, which has it in the lambda below.
  const auto mode = std::make_shared<std::string>();
  app.add_option("--socket-mode", *mode,
                 "Permissions of socket files, in octal, such as 0660; empty: as the umask says")
      ->type_name("MODE")
      ->check(CLI::Validator(
          [](const std::string& text) {
            // Empty, as --print-config writes that there is none.
            return text.empty() || ParseMode(text)
                       ? std::string()
                       : absl::StrCat("Value ", text, " is no octal number up to 0777");
          },
          ""))
      ->each([&access, mode](const std::string& text) { access.mode = ParseMode(text); });
  app.add_option("--socket-group", access.group,
                 "Group of socket files, by name; empty: the server's own")
      ->type_name("NAME");
}

}  // namespace opserve
