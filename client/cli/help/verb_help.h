// File: client/cli/help/verb_help.h
//
// What the command line takes, as plain structs from which the help, the completions and the manual
// page are made. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_HELP_VERB_HELP_H_
#define OPSERVE_CLIENT_CLI_HELP_VERB_HELP_H_

#include <string>
#include <vector>

namespace opserve::cli {

// One option, flag or positional.
struct OptionHelp {
  std::vector<std::string> names;  // "-h", "--help"; of a positional its only name: "OPERATOR"
  std::string value;               // "FILE", or the choices as "auto|gpu|cpu"; empty: a flag
  std::string description;
  std::string default_value;
  std::string environment;  // the variable that it is read from
  bool is_positional = false;
  bool is_required = false;
  bool is_repeated = false;

  // The choices, where those are known.
  std::vector<std::string> Choices() const;
  // Whether it takes the name of a file.
  bool TakesFile() const;
};

// A verb, such as run or tensor, or the whole command.
struct VerbHelp {
  std::string path;  // "opserve tensor create"
  std::string description;
  std::string footer;  // shown below the help
  std::vector<OptionHelp> options;
  std::vector<VerbHelp> verbs;

  // Last word of the path.
  std::string Name() const;
  // The path and what may follow it: "opserve run [OPTION]... OPERATOR".
  std::string Usage() const;
};

// `verb` and all verbs below it, each before those that are below it.
std::vector<const VerbHelp*> AllVerbs(const VerbHelp& verb);

// The text of --help, at most 80 columns wide.
std::string RenderHelp(const VerbHelp& verb);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_HELP_VERB_HELP_H_
