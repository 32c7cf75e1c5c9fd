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

// What a line says, with those that go on with it, without comments: CLI11 misreads lists that
// begin with a line end.
struct Setting {
  int line = 0;
  std::string name;
  std::string text;
};

CLI::ConfigItem Parse(const Setting& setting) {
  std::istringstream stream(setting.text);
  // There are no comments left, and CLI11 would take a '#' between quotes for one: it is to look
  // for what no line has.
  CLI::ConfigTOML reader;
  reader.comment('\n');
  return reader.from_config(stream).at(0);
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  const std::string whole((std::istreambuf_iterator<char>(input)),
                          std::istreambuf_iterator<char>());
  const absl::string_view text = absl::StripPrefix(whole, kByteOrderMark);
  int number = 0;
  std::vector<Setting> settings;
  // Whether the last one is a list that goes on.
  bool is_open = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view content = ContentOf(line);
    if (is_open) {
      if (EndsEarly(content)) RefuseEarlyEnd(number);
      absl::StrAppend(&settings.back().text, " ", content);
      is_open = !absl::EndsWith(content, "]");
      continue;
    }
    if (content.empty()) continue;
    settings.push_back({number, NameIn(number, content), std::string(content)});
    const absl::string_view value =
        absl::StripAsciiWhitespace(content.substr(content.find('=') + 1));
    if (!absl::StartsWith(value, "[")) continue;
    if (EndsEarly(value)) RefuseEarlyEnd(number);
    is_open = !absl::EndsWith(value, "]");
  }
  if (is_open) Refuse(settings.back().line, "the list that begins here has no end");
  // One for each name: CLI11 takes the first one alone.
  std::vector<CLI::ConfigItem> merged;
  for (const Setting& setting : settings) {
    CLI::ConfigItem item = Parse(setting);
    // CLI11 leaves quotes that have no other one.
    item.name = setting.name;
    std::vector<Place>& places = places_[setting.name];
    places.push_back({setting.line, item.inputs});
    if (places.size() == 1) {
      merged.push_back(std::move(item));
      continue;
    }
    if (app_.get_option("--" + setting.name)->get_items_expected_max() <= 1) {
      Refuse(setting.line, absl::StrCat("the setting \"", setting.name, "\" is in line ",
                                        places.front().line, ", too"));
    }
    const auto first = std::find_if(merged.begin(), merged.end(),
                                    [&item](const auto& other) { return other.name == item.name; });
    std::move(item.inputs.begin(), item.inputs.end(), std::back_inserter(first->inputs));
  }
  return merged;
}

std::string ConfigFile::NameIn(int line, absl::string_view content) const {
  if (content.front() == '[') {
    Refuse(line, absl::StrCat(content, " is a section; settings are in none"));
  }
  const size_t equals = content.find('=');
  if (equals == absl::string_view::npos) {
    Refuse(line, absl::StrCat("\"", content, "\" has no value; write name=value"));
  }
  absl::string_view name = absl::StripAsciiWhitespace(content.substr(0, equals));
  for (const absl::string_view quote : {"\"", "'"}) {
    if (absl::ConsumePrefix(&name, quote)) absl::ConsumeSuffix(&name, quote);
  }
  const CLI::Option* const option = app_.get_option_no_throw(absl::StrCat("--", name));
  if (name.empty() || option == nullptr || !option->get_configurable()) {
    Refuse(line, absl::StrCat("there is no setting \"", name, "\""));
  }
  return std::string(name);
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
      absl::ConsumePrefix(&name, "--") ? places_.find(std::string(name)) : places_.end();
  if (found == places_.end() || std::any_of(arguments.begin(), arguments.end(), is_flag)) {
    return what;
  }
  // Of several places, that of the longest input which the error names: others may be a part of it.
  int line = found->second.back().line;
  size_t longest = 0;
  for (const Place& place : found->second) {
    for (const std::string& input : place.inputs) {
      if (input.size() <= longest || !absl::StrContains(what, input)) continue;
      line = place.line;
      longest = input.size();
    }
  }
  return absl::StrCat(file, ":", line, ": ", what);
}

}  // namespace opserve
