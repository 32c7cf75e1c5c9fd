#include "client/cli/help/bash_completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve::cli {
namespace {

constexpr char kStart[] = R"(# Completion of the opserve command in bash.

_opserve() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verb=opserve word words= files=
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$verb $word" in
)";

constexpr char kEnd[] = R"(  esac
  if [[ -n $files && $current != -* ]]; then
    compopt -o default
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _opserve opserve
)";

// One line per option that takes a value.
std::string ValueCase(const std::string& path, const OptionHelp& option) {
  const std::string pattern = absl::StrJoin(option.names, "' | '", [&](std::string* text, auto& n) {
    absl::StrAppend(text, path, " ", n);
  });
  const std::vector<std::string> choices = option.Choices();
  return absl::StrCat("    '", pattern, "') ",
                      option.TakesFile() ? "compopt -o default\n      return"
                      : choices.empty()  ? "return"
                                         : absl::StrCat("mapfile -t COMPREPLY < <(compgen -W '",
                                                        absl::StrJoin(choices, " "),
                                                        "' -- \"$current\")\n      return"),
                      " ;;\n");
}

std::string WordsCase(const VerbHelp& verb) {
  std::vector<std::string> words;
  for (const VerbHelp& below : verb.verbs) words.push_back(below.Name());
  bool files = false;
  for (const OptionHelp& option : verb.options) {
    files |= option.is_positional && option.TakesFile();
    if (option.is_positional) continue;
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return absl::StrCat("    '", verb.path, "') words='", absl::StrJoin(words, " "), "'",
                      files ? " files=1" : "", " ;;\n");
}

}  // namespace

std::string RenderBashCompletion(const VerbHelp& root) {
  std::string paths;
  std::string values;
  std::string words;
  for (const VerbHelp* verb : AllVerbs(root)) {
    if (verb != &root) absl::StrAppend(&paths, paths.empty() ? "" : " | ", "'", verb->path, "'");
    for (const OptionHelp& option : verb->options) {
      if (!option.is_positional && !option.value.empty()) values += ValueCase(verb->path, option);
    }
    words += WordsCase(*verb);
  }
  return absl::StrCat(kStart, "      ", paths,
                      ") verb+=\" $word\" ;;\n    esac\n  done\n  case \"$verb $previous\" in\n",
                      values, "  esac\n  case $verb in\n", words, kEnd);
}

}  // namespace opserve::cli
