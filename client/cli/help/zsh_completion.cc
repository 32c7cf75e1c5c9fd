#include "client/cli/help/zsh_completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace opserve::cli {
namespace {

// Text in single quotes, for _arguments and _describe: brackets and colons have a meaning there.
std::string Quoted(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"`", ""}});
}

std::string FunctionOf(const VerbHelp& verb) {
  return "_" + absl::StrReplaceAll(verb.path, {{" ", "_"}});
}

// What completes a value.
std::string ActionOf(const OptionHelp& option) {
  const std::vector<std::string> choices = option.Choices();
  if (!choices.empty()) return absl::StrCat("(", absl::StrJoin(choices, " "), ")");
  return option.TakesFile() ? "_files" : " ";
}

std::string ValueOf(const OptionHelp& option) {
  return option.Choices().empty() ? Quoted(option.value) : "value";
}

std::string OptionLines(const OptionHelp& option) {
  const std::string action = absl::StrCat(":", ValueOf(option), ":", ActionOf(option));
  if (option.is_positional) {
    return absl::StrCat("    '",
                        option.is_repeated   ? "*"
                        : option.is_required ? ""
                                             : ":",
                        action, "' \\\n");
  }
  std::string lines;
  for (const std::string& name : option.names) {
    absl::StrAppend(&lines, "    '", option.is_repeated ? "*" : "", name, "[",
                    Quoted(option.description), "]", option.value.empty() ? "" : action, "' \\\n");
  }
  return lines;
}

std::string LeafFunction(const VerbHelp& verb) {
  std::string lines;
  for (const OptionHelp& option : verb.options) lines += OptionLines(option);
  return absl::StrCat(FunctionOf(verb), "() {\n  _arguments -s \\\n", lines, "    && return 0\n",
                      "}\n\n");
}

// The function of a verb with verbs below it, which complete what follows them.
std::string BranchFunction(const VerbHelp& verb) {
  std::string lines;
  for (const OptionHelp& option : verb.options) lines += OptionLines(option);
  std::string verbs;
  std::string cases;
  for (const VerbHelp& below : verb.verbs) {
    absl::StrAppend(&verbs, "    '", below.Name(), ":", Quoted(below.description), "'\n");
    absl::StrAppend(&cases, "        ", below.Name(), ") ", FunctionOf(below), " ;;\n");
  }
  return absl::StrCat(FunctionOf(verb), "() {\n  local state line curcontext=$curcontext\n",
                      "  local -a verbs=(\n", verbs, "  )\n  _arguments -C \\\n", lines,
                      "    '1: :->verb' \\\n    '*:: :->rest' && return 0\n",
                      "  case $state in\n    verb) _describe verb verbs ;;\n    rest)\n",
                      "      case $line[1] in\n", cases, "      esac\n      ;;\n  esac\n}\n\n");
}

}  // namespace

std::string RenderZshCompletion(const VerbHelp& root) {
  std::string functions;
  for (const VerbHelp* verb : AllVerbs(root)) {
    functions += verb->verbs.empty() ? LeafFunction(*verb) : BranchFunction(*verb);
  }
  return absl::StrCat("#compdef opserve\n\n# Completion of the opserve command in zsh.\n\n",
                      functions, "_opserve \"$@\"\n");
}

}  // namespace opserve::cli
