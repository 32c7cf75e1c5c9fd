#include "server/program/config_file.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace opserve {
namespace {

// What editors on Windows begin UTF-8 with.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The first of these characters that is not between quotes; npos: there is none.
size_t FindUnquoted(absl::string_view line, char wanted) {
  const char stops[] = {wanted, '"', '\'', '\0'};
  size_t at = line.find_first_of(stops);
  while (at != absl::string_view::npos && line[at] != wanted) {
    // A quote without another one is a character as all others are.
    const size_t end = line.find(line[at], at + 1);
    at = line.find_first_of(stops, (end == absl::string_view::npos ? at : end) + 1);
  }
  return at;
}

// Without a comment, and without spaces around it.
absl::string_view ContentOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (absl::StartsWith(line, ";")) return {};
  return absl::StripAsciiWhitespace(line.substr(0, FindUnquoted(line, '#')));
}

// Whether a list, or a line of one, ends before the end of the line, as "[::1]:50051" does without
// quotes.
bool EndsEarly(absl::string_view content) {
  const size_t end = FindUnquoted(content, ']');
  return end != absl::string_view::npos && end + 1 < content.size();
}

// One item for each setting: CLI11 takes the first one alone.
std::vector<CLI::ConfigItem> Merge(std::vector<CLI::ConfigItem> items) {
  std::vector<CLI::ConfigItem> merged;
  for (CLI::ConfigItem& item : items) {
    const auto first =
        std::find_if(merged.begin(), merged.end(),
                     [&item](const CLI::ConfigItem& other) { return other.name == item.name; });
    if (first == merged.end()) {
      merged.push_back(std::move(item));
    } else {
      std::move(item.inputs.begin(), item.inputs.end(), std::back_inserter(first->inputs));
    }
  }
  return merged;
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  const std::string whole((std::istreambuf_iterator<char>(input)),
                          std::istreambuf_iterator<char>());
  const absl::string_view text = absl::StripPrefix(whole, kByteOrderMark);
  int number = 0;
  // The line where a list began that goes on; 0: none does.
  int list = 0;
  // Each setting in one line, without comments: CLI11 misreads lists that begin with a line end.
  std::string settings;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view content = ContentOf(line);
    if (list != 0) {
      if (EndsEarly(content)) RefuseEarlyEnd(number);
      absl::StrAppend(&settings, " ", content);
      if (absl::EndsWith(content, "]")) list = 0;
      continue;
    }
    if (content.empty()) continue;
    if (content.front() == '[') {
      Refuse(number, absl::StrCat(content, " is a section; settings are in none"));
    }
    const size_t equals = content.find('=');
    if (equals == absl::string_view::npos) {
      Refuse(number, absl::StrCat("\"", content, "\" has no value; write name=value"));
    }
    absl::string_view quoted = absl::StripAsciiWhitespace(content.substr(0, equals));
    for (const absl::string_view quote : {"\"", "'"}) {
      if (absl::ConsumePrefix(&quoted, quote)) absl::ConsumeSuffix(&quoted, quote);
    }
    const std::string name(quoted);
    const CLI::Option* const option = app_.get_option_no_throw("--" + name);
    if (name.empty() || option == nullptr || !option->get_configurable()) {
      Refuse(number, absl::StrCat("there is no setting \"", name, "\""));
    }
    const absl::string_view value = absl::StripAsciiWhitespace(content.substr(equals + 1));
    if (absl::StartsWith(value, "[")) {
      if (EndsEarly(value)) RefuseEarlyEnd(number);
      if (!absl::EndsWith(value, "]")) list = number;
    }
    lines_[name] = number;
    absl::StrAppend(&settings, "\n", content);
  }
  if (list != 0) Refuse(list, "the list that begins here has no end");
  std::istringstream stream(settings);
  // There are no comments left, and CLI11 would take a '#' between quotes for one: it is to look
  // for what no line has.
  CLI::ConfigTOML reader;
  reader.comment('\n');
  return Merge(reader.from_config(stream));
}

void ConfigFile::RefuseEarlyEnd(int line) const {
  Refuse(line,
         "a list ends before the end of the line; write quotes around what has brackets in it, "
         "such as \"[::1]:50051\"");
}

void ConfigFile::Refuse(int line, const std::string& what) const {
  refused_line_ = line;
  throw CLI::ConfigError(what);
}

std::string ConfigFile::Locate(const CLI::ParseError& error, const std::string& file,
                               const std::vector<std::string>& arguments) const {
  std::string what = error.what();
  if (refused_line_ != 0) return absl::StrCat(file, ":", refused_line_, ": ", what);
  // "--pollers: Value 300 not in range 0 to 256", or "Could not convert: --kserve = maybe".
  const size_t start = std::min(what.find("--"), what.size());
  const std::string flag = what.substr(start, what.find_first_of(": ", start) - start);
  const auto is_flag = [&flag](const std::string& argument) {
    return argument == flag || absl::StartsWith(argument, flag + "=");
  };
  absl::string_view name = flag;
  const auto found =
      absl::ConsumePrefix(&name, "--") ? lines_.find(std::string(name)) : lines_.end();
  if (found == lines_.end() || std::any_of(arguments.begin(), arguments.end(), is_flag)) {
    return what;
  }
  return absl::StrCat(file, ":", found->second, ": ", what);
}

}  // namespace opserve
