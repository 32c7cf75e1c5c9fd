#include "server/program/token_command.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/empty_values.h"
#include "server/access/token_list.h"
#include "server/base/file_lock.h"
#include "server/base/small_file.h"
#include "server/program/printed.h"

namespace opserve {
namespace {

constexpr uint64_t kMostDays = 36500;
// Whoever changes a list is done in much less.
constexpr std::chrono::seconds kLockLimit{10};
// As Linux follows; with more, or in a circle, the file cannot be read.
constexpr int kMostLinks = 40;

// "30d", "12h" or "45m"; nullopt where it is none of these.
std::optional<absl::Duration> LifetimeOf(absl::string_view text) {
  if (text.size() < 2) return std::nullopt;
  uint64_t count = 0;
  if (!absl::SimpleAtoi(text.substr(0, text.size() - 1), &count) || count == 0) return std::nullopt;
  if (count > kMostDays * 24 * 60) return std::nullopt;
  absl::Duration unit;
  switch (text.back()) {
    case 'd':
      unit = absl::Hours(24);
      break;
    case 'h':
      unit = absl::Hours(1);
      break;
    case 'm':
      unit = absl::Minutes(1);
      break;
    default:
      return std::nullopt;
  }
  const absl::Duration lifetime = static_cast<int64_t>(count) * unit;
  if (lifetime > kMostDays * absl::Hours(24)) return std::nullopt;
  return lifetime;
}

// The file that a symbolic link leads to, or the file itself. What is written takes the place of
// the file, and not of the link, and all who change the list take the same lock.
std::string BehindLinks(const std::string& file) {
  std::filesystem::path path = file;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path.string();
}

// The list of a file that need not be there yet.
absl::StatusOr<TokenList> ReadOrBegin(const std::string& file) {
  absl::StatusOr<TokenList> list = TokenList::Read(file);
  if (absl::IsNotFound(list.status())) return TokenList();
  return list;
}

// The new token.
absl::StatusOr<std::string> MakeTokenIn(const std::string& file, const std::string& name,
                                        absl::Time expires) {
  const absl::StatusOr<FileLock> lock = FileLock::Take(file, kLockLimit);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<TokenList> list = ReadOrBegin(file);
  if (!list.ok()) return list.status();
  std::string token = MakeToken();
  if (absl::Status status = list->Add(name, token, expires); !status.ok()) return status;
  if (absl::Status status = ReplaceFile(file, list->ToText()); !status.ok()) return status;
  return token;
}

absl::Status RemoveTokenFrom(const std::string& file, const std::string& name) {
  const absl::StatusOr<FileLock> lock = FileLock::Take(file, kLockLimit);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<TokenList> list = TokenList::Read(file);
  if (!list.ok()) return list.status();
  if (!list->Remove(name)) {
    return absl::NotFoundError(absl::StrCat(file, " has no token of the name ", name));
  }
  return ReplaceFile(file, list->ToText());
}

EarlyExit AddToken(const std::string& file, const std::string& name, absl::Time expires,
                   std::ostream& out) {
  const absl::StatusOr<std::string> token = MakeTokenIn(file, name, expires);
  if (!token.ok()) return Failed(token.status());
  // The lock is given back by now: whoever reads this may be slow.
  const absl::Status printed = Print(absl::StrCat(*token, "\n"), out);
  if (printed.ok()) return {};
  // Nobody knows it, and nobody ever will.
  const absl::Status removed = RemoveTokenFrom(file, name);
  if (removed.ok()) {
    return Failed(absl::DataLossError(
        absl::StrCat(printed.message(), "; the token ", name, " is removed again")));
  }
  return Failed(
      absl::DataLossError(absl::StrCat(printed.message(), "; revoke the token ", name,
                                       ", which stays in the file because ", removed.message())));
}

EarlyExit ListTokens(const std::string& file, absl::Time now, std::ostream& out) {
  const absl::StatusOr<TokenList> list = TokenList::Read(file);
  if (!list.ok()) return Failed(list.status());
  std::string text;
  for (const TokenEntry& entry : list->entries()) {
    absl::StrAppend(&text, entry.name);
    if (entry.expires != absl::InfiniteFuture()) {
      absl::StrAppend(&text, entry.expires <= now ? " expired " : " expires ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", entry.expires, absl::UTCTimeZone()));
    }
    text += '\n';
  }
  return Printed(text, out);
}

EarlyExit RevokeToken(const std::string& file, const std::string& name) {
  const absl::Status removed = RemoveTokenFrom(file, name);
  return removed.ok() ? EarlyExit() : Failed(removed);
}

}  // namespace

bool IsTokenCommand(int argc, const char* const* argv) {
  return argc > 1 && absl::string_view(argv[1]) == "token";
}

EarlyExit RunTokenCommand(int argc, const char* const* argv, absl::Time now, std::ostream& out) {
  std::string file;
  std::string name;
  std::string lifetime;
  CLI::App app("Makes, lists and revokes the tokens by which a server knows its clients.",
               "opserve-server token");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--tokens", file, "File with the hashes of the tokens, as the server has it")
      ->type_name("FILE")
      ->required();
  CLI::App* const add = app.add_subcommand("add", "Make a token, and print it this once");
  add->add_option("name", name, "Who is to have it")->type_name("NAME")->required();
  add->add_option("--expires", lifetime, "For how long it is of use, such as 30d, 12h or 45m")
      ->type_name("TIME")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return LifetimeOf(text) ? std::string()
                                    : absl::StrCat("Value ", text, " is no time such as 30d");
          },
          ""));
  CLI::App* const list = app.add_subcommand("list", "Print the names, and when they expire");
  CLI::App* const revoke = app.add_subcommand("revoke", "Remove a token");
  revoke->add_option("name", name, "Whose it is")->type_name("NAME")->required();
  try {
    app.parse(WordsToParse(app, {argv + 1, argv + argc}));
  } catch (const CLI::CallForHelp&) {
    return Printed(app.help("", CLI::AppFormatMode::All), out);
  } catch (const CLI::ParseError& error) {
    return {kExitUsage,
            absl::StrCat("opserve-server: ", error.what(), "\nTry opserve-server token --help.\n")};
  }
  if (list->parsed()) return ListTokens(file, now, out);
  file = BehindLinks(file);
  if (revoke->parsed()) return RevokeToken(file, name);
  const std::optional<absl::Duration> lasts = LifetimeOf(lifetime);
  return AddToken(file, name, lasts ? now + *lasts : absl::InfiniteFuture(), out);
}

}  // namespace opserve
