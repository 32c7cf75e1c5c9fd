// File: client/cli/arguments/verb.h
//
// Builds the command line. Hides CLI11, whose header takes longer to compile than all the rest. Not
// thread-safe.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_VERB_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_VERB_H_

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/help/verb_help.h"

namespace CLI {
class App;
}  // namespace CLI

namespace opserve::cli {

// Takes the text of an option; returns a complaint, or nothing.
using TakeText = std::function<std::string(const std::string&)>;

// Where an option may be missing, repeated, or come from.
struct OptionTraits {
  bool required = false;
  bool repeated = false;  // each time with one value; a positional takes all that follow
  std::string default_value = {};
  std::string environment = {};
};

// A verb to which options and verbs are added; a copy is the same verb.
class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}

  // A verb below this one. A hidden one is in no help.
  Verb AddVerb(const std::string& name, const std::string& description, bool hidden = false);
  // One of the verbs below this one must follow.
  void RequireVerb();

  // An option "--name", or a positional "NAME". `value` is what it takes: see OptionHelp::value.
  void AddOption(const std::string& name, const std::string& value, TakeText take,
                 const std::string& description, const OptionTraits& traits = {});
  void AddFlag(const std::string& name, bool& flag, const std::string& description);
  // Text to show below the help.
  void SetFooter(const std::string& footer);

  // Called once all arguments are known to be right, if the verb was chosen. Returns a complaint
  // about options that do not go together, or nothing.
  void OnChosen(std::function<std::string()> chosen);

  // Whether the option is on the command line, and not in the environment alone; once the verb was
  // chosen.
  bool IsGiven(const std::string& name) const;

  // Everything that is not hidden.
  VerbHelp Describe() const;

 private:
  CLI::App* app_;
};

// The command itself, to which verbs are added.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Verb root() { return Verb(*app_); }

  // Parses the arguments after the program's name. Returns nothing where a verb was chosen, else
  // the exit code: help and the version go to `out`, complaints to `err`.
  std::optional<int> Parse(const std::vector<std::string>& arguments, std::ostream& out,
                           std::ostream& err);

 private:
  const std::unique_ptr<CLI::App> app_;
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_VERB_H_
