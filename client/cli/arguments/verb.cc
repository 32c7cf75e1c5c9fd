#include "client/cli/arguments/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cli/arguments/exit_code.h"
#include "client/cli/arguments/nearest_name.h"
#include "proto/base/empty_values.h"

namespace opserve::cli {
namespace {

// Before a word that CLI11 is not to look into: of a positional that takes several it would make
// "[a,b]" two of them. No word that people write begins with it.
constexpr absl::string_view kHidden = "\x01";

std::string Hide(const std::string& word) {
  const bool is_hidden = absl::StartsWith(word, "[") || absl::StartsWith(word, kHidden);
  return absl::StrCat(is_hidden ? kHidden : "", word);
}

std::string Unhide(const std::string& word) {
  return std::string(absl::StripPrefix(word, kHidden));
}

OptionHelp Describe(const CLI::Option& option) {
  OptionHelp help;
  help.is_positional = option.get_positional();
  if (help.is_positional) help.names = {option.get_name(/*positional=*/true)};
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  if (option.get_type_size() != 0) help.value = option.get_type_name();
  help.description = option.get_description();
  help.default_value = option.get_default_str();
  help.environment = option.get_envname();
  help.is_required = option.get_required();
  help.is_repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return help;
}

VerbHelp Describe(const CLI::App& app, const std::string& parent) {
  VerbHelp help;
  help.path = absl::StrCat(parent, parent.empty() ? "" : " ", app.get_name());
  help.description = app.get_description();
  help.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options({})) {
    help.options.push_back(Describe(*option));
  }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) help.verbs.push_back(Describe(*verb, help.path));
  }
  return help;
}

VerbHelp DescribeInPlace(const CLI::App& app) {
  std::string parent;
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
    parent = absl::StrCat(above->get_name(), parent.empty() ? "" : " ", parent);
  }
  return Describe(app, parent);
}

// What is wrong, with the word that is no verb, of which CLI11 would only say that one is missing.
std::string UnknownVerb(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* verb = &app;
  size_t depth = 0;
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    // An option before its verb, or its value: that is what is wrong.
    if (depth >= arguments.size() || arguments[depth] != verb->get_name()) return "";
    ++depth;
  }
  const bool has_verbs = !verb->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (!has_verbs || depth >= arguments.size() || absl::StartsWith(arguments[depth], "-")) return "";
  return absl::StrCat("opserve: unknown: ", arguments[depth], ". ");
}

// The verb that was chosen.
const CLI::App& ChosenVerb(const CLI::App& app) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return *verb;
}

// A line for each option that there is not, of which CLI11 says nothing where it misses another.
std::string UnknownOptions(const CLI::App& app) {
  std::vector<std::string> names;
  for (const OptionHelp& option : DescribeInPlace(ChosenVerb(app)).options) {
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  std::string text;
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      absl::StrAppend(&text, "opserve: ", name, " belongs behind its verb, ",
                      ChosenVerb(app).get_name(), "\n");
      continue;
    }
    const std::string nearest = NearestName(name, names);
    absl::StrAppend(&text, "opserve: unknown option ", name,
                    nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"), "\n");
  }
  return text;
}

}  // namespace

Verb Verb::AddVerb(const std::string& name, const std::string& description, bool hidden) {
  CLI::App* const verb = app_->add_subcommand(name, description);
  if (hidden) verb->group("");
  return Verb(*verb);
}

void Verb::RequireVerb() { app_->require_subcommand(1); }

void Verb::AddOption(const std::string& name, const std::string& value, TakeText take,
                     const std::string& description, const OptionTraits& traits) {
  const auto take_all = [name, take = std::move(take)](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::string complaint = take(Unhide(text));
      if (!complaint.empty()) throw CLI::ValidationError(name, complaint);
    }
  };
  CLI::Option* const option =
      app_->add_option_function<std::vector<std::string>>(name, take_all, description);
  option->type_name(value)->required(traits.required)->default_str(traits.default_value);
  if (!traits.environment.empty()) option->envname(traits.environment);
  if (traits.repeated) {
    option->expected(1, CLI::detail::expected_max_vector_size)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    option->expected(1)->take_last();
  }
  // Else a positional would take those of the next one.
  option->allow_extra_args(traits.repeated && option->get_positional());
}

void Verb::AddFlag(const std::string& name, bool& flag, const std::string& description) {
  app_->add_flag(name, flag, description);
}

void Verb::SetFooter(const std::string& footer) { app_->footer(footer); }

void Verb::OnChosen(std::function<std::string()> chosen) {
  app_->callback([name = app_->get_name(), chosen = std::move(chosen)] {
    const std::string complaint = chosen();
    if (!complaint.empty()) throw CLI::ValidationError(name, complaint);
  });
}

bool Verb::IsGiven(const std::string& name) const {
  const std::vector<CLI::Option*>& given = app_->parse_order();
  return std::any_of(given.begin(), given.end(),
                     [&name](const CLI::Option* option) { return option->check_name(name); });
}

VerbHelp Verb::Describe() const { return DescribeInPlace(*app_); }

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->formatter_fn([](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    return RenderHelp(DescribeInPlace(*app));
  });
}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::Parse(const std::vector<std::string>& arguments, std::ostream& out,
                                      std::ostream& err) {
  try {
    std::vector<std::string> words = WordsToParse(*app_, arguments);
    std::transform(words.begin(), words.end(), words.begin(), Hide);
    app_->parse(std::move(words));
  } catch (const CLI::Success& success) {
    return app_->exit(success, out, err);
  } catch (const CLI::ParseError& error) {
    const std::string unknown_verb = UnknownVerb(*app_, arguments);
    // Which options there are depends on the verb.
    const std::string unknown = unknown_verb.empty() ? UnknownOptions(*app_) : "";
    if (!unknown.empty()) {
      err << unknown << "Run with --help for more information.\n";
      return kUsage;
    }
    std::ostringstream complaint;
    app_->exit(error, out, complaint);
    err << unknown_verb << absl::StrReplaceAll(complaint.str(), {{kHidden, ""}});
    return kUsage;
  }
  return std::nullopt;
}

}  // namespace opserve::cli
