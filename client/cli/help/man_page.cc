#include "client/cli/help/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace opserve::cli {
namespace {

// Text that troff prints as it is, also where a line of it starts with a dot or a quote.
std::string Escaped(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(
      text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"}});
  return absl::StartsWith(escaped, ".") ? "\\&" + escaped : escaped;
}

std::string Bold(const std::string& text) { return absl::StrCat("\\fB", Escaped(text), "\\fR"); }

std::string Italic(const std::string& text) { return absl::StrCat("\\fI", Escaped(text), "\\fR"); }

std::string OptionEntry(const OptionHelp& option) {
  std::string head;
  for (const std::string& name : option.names) {
    absl::StrAppend(&head, head.empty() ? "" : ", ",
                    option.is_positional ? Italic(name) : Bold(name));
  }
  if (!option.is_positional && !option.value.empty()) {
    // Many choices may be broken into lines.
    absl::StrAppend(&head, " ", absl::StrReplaceAll(Italic(option.value), {{"|", "|\\:"}}));
  }
  std::string text = absl::StrCat(".TP\n", head, "\n", Escaped(option.description), ".\n");
  if (option.is_repeated) text += "May be given more than once.\n";
  if (option.is_required && !option.is_positional) text += "Required.\n";
  if (!option.default_value.empty()) {
    absl::StrAppend(&text, "Default: ", Escaped(option.default_value), ".\n");
  }
  if (!option.environment.empty()) {
    absl::StrAppend(&text, "Read from the environment variable ", Bold(option.environment),
                    " where it is not given.\n");
  }
  return text;
}

// Lines as they are, in a block that is not filled.
std::string Verbatim(const std::string& text) {
  std::string block = ".PP\n.nf\n";
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    absl::StrAppend(&block, Escaped(line), "\n");
  }
  return block + ".fi\n";
}

// The verbs below `parent`. Verbs have the footer of their parent unless they set another one.
std::string VerbSections(const VerbHelp& parent) {
  std::string text;
  for (const VerbHelp& verb : parent.verbs) {
    absl::StrAppend(&text, ".SS ", Escaped(verb.Usage()), "\n", Escaped(verb.description), ".\n");
    for (const OptionHelp& option : verb.options) {
      if (option.names.back() != "--help") text += OptionEntry(option);
    }
    if (verb.footer != parent.footer) text += Verbatim(verb.footer);
    text += VerbSections(verb);
  }
  return text;
}

}  // namespace

std::string RenderManPage(const VerbHelp& root) {
  const std::string& name = root.path;
  std::string text =
      absl::StrCat(".TH ", absl::AsciiStrToUpper(name), " 1\n.SH NAME\n", name,
                   " \\- run DirectML operators on an opserve server\n.SH SYNOPSIS\n", Bold(name),
                   " \\fIVERB\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\n",
                   Escaped(root.description), "\n.SH OPTIONS\n");
  for (const OptionHelp& option : root.options) text += OptionEntry(option);
  text += ".SH VERBS\nEach verb has its own \\fB\\-\\-help\\fR.\n";
  return absl::StrCat(text, VerbSections(root), ".SH NOTES\n", Verbatim(root.footer));
}

}  // namespace opserve::cli
