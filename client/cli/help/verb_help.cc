#include "client/cli/help/verb_help.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace opserve::cli {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kDescriptionColumn = 28;

// `text` filled to the width, with every line but the first indented.
std::string Fill(const std::string& text, size_t indent) {
  std::string filled;
  size_t column = indent;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      absl::StrAppend(&filled, "\n", std::string(indent, ' '));
      column = indent;
    } else if (column > indent) {
      filled += ' ';
      ++column;
    }
    absl::StrAppend(&filled, word);
    column += word.size();
  }
  return filled;
}

// A name and what it means, beside or below it.
std::string Entry(const std::string& name, const std::string& description) {
  std::string start = absl::StrCat("  ", name);
  // Many choices go to several lines.
  if (start.size() > kWidth) start = "  " + Fill(absl::StrReplaceAll(name, {{"|", "| "}}), 4);
  const bool beside = start.size() + 2 <= kDescriptionColumn;
  return absl::StrCat(start, beside ? "" : "\n",
                      std::string(kDescriptionColumn - (beside ? start.size() : 0), ' '),
                      Fill(description, kDescriptionColumn), "\n");
}

std::string NameOf(const OptionHelp& option) {
  return absl::StrCat(absl::StrJoin(option.names, ", "), option.value.empty() ? "" : " ",
                      option.value);
}

std::string DescriptionOf(const OptionHelp& option) {
  std::string text = option.description;
  if (option.is_repeated && !option.is_positional) text += "; may be repeated";
  if (!option.default_value.empty()) absl::StrAppend(&text, " [", option.default_value, "]");
  if (option.is_required && !option.is_positional) text += " (required)";
  if (!option.environment.empty()) absl::StrAppend(&text, " ($", option.environment, ")");
  return text;
}

std::string Section(const char* title, const VerbHelp& verb, bool positionals) {
  std::string text;
  for (const OptionHelp& option : verb.options) {
    if (option.is_positional != positionals) continue;
    absl::StrAppend(&text,
                    Entry(positionals ? option.names[0] : NameOf(option), DescriptionOf(option)));
  }
  return text.empty() ? "" : absl::StrCat("\n", title, ":\n", text);
}

}  // namespace

std::vector<std::string> OptionHelp::Choices() const {
  if (!absl::StrContains(value, '|')) return {};
  return absl::StrSplit(value, '|');
}

bool OptionHelp::TakesFile() const { return absl::StartsWith(value, "FILE"); }

std::string VerbHelp::Name() const { return path.substr(path.rfind(' ') + 1); }

std::string VerbHelp::Usage() const {
  std::string text = absl::StrCat(path, " [OPTION]...");
  for (const OptionHelp& option : options) {
    if (!option.is_positional) continue;
    const std::string name = absl::StrCat(option.names[0], option.is_repeated ? "..." : "");
    absl::StrAppend(&text, " ", option.is_required ? name : absl::StrCat("[", name, "]"));
  }
  return verbs.empty() ? text : absl::StrCat(text, " VERB");
}

std::vector<const VerbHelp*> AllVerbs(const VerbHelp& verb) {
  std::vector<const VerbHelp*> all = {&verb};
  for (const VerbHelp& below : verb.verbs) {
    const std::vector<const VerbHelp*> more = AllVerbs(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string RenderHelp(const VerbHelp& verb) {
  std::string text = absl::StrCat(Fill(verb.description, 0), "\n\nUsage: ", verb.Usage(), "\n");
  absl::StrAppend(&text, Section("Arguments", verb, true), Section("Options", verb, false));
  if (!verb.verbs.empty()) text += "\nVerbs, each with its own --help:\n";
  for (const VerbHelp& below : verb.verbs) {
    absl::StrAppend(&text, Entry(below.Name(), below.description));
  }
  if (!verb.footer.empty()) absl::StrAppend(&text, "\n", verb.footer, "\n");
  return text;
}

}  // namespace opserve::cli
