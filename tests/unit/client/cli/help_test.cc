// The help, the completions and the manual page of a command line.

#include <utility>

#include "client/cli/help/bash_completion.h"
#include "client/cli/help/man_page.h"
#include "client/cli/help/verb_help.h"
#include "client/cli/help/zsh_completion.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

OptionHelp Option(std::vector<std::string> names, std::string value, std::string description) {
  OptionHelp option;
  option.names = std::move(names);
  option.value = std::move(value);
  option.description = std::move(description);
  return option;
}

VerbHelp MakeHelp() {
  OptionHelp file = Option({"FILE"}, "FILE", "Where it is");
  file.is_positional = file.is_required = file.is_repeated = true;
  OptionHelp mode = Option({"-m", "--mode"}, "fast|slow", "How");
  mode.is_repeated = true;
  OptionHelp name = Option({"--name"}, "TEXT", "Name");
  name.default_value = "x-y";
  name.environment = "TOOL_NAME";
  VerbHelp get;
  get.path = "tool get";
  get.description = "Get a thing: it's [all]";
  get.footer = ".first\nlast";
  get.options = {file, mode, name, Option({"--dry"}, "", "Do nothing")};
  VerbHelp tool;
  tool.path = "tool";
  tool.description = "Do things";
  tool.verbs = {get};
  return tool;
}

TEST(HelpTest, ValuesAreChoicesOrFiles) {
  const VerbHelp get = MakeHelp().verbs[0];
  EXPECT_THAT(get.options[1].Choices(), ElementsAre("fast", "slow"));
  EXPECT_THAT(get.options[2].Choices(), IsEmpty());
  EXPECT_TRUE(get.options[0].TakesFile());
  EXPECT_FALSE(get.options[2].TakesFile());
}

TEST(HelpTest, HelpShowsEverythingWithinItsWidth) {
  EXPECT_EQ(RenderHelp(MakeHelp().verbs[0]),
            "Get a thing: it's [all]\n"
            "\n"
            "Usage: tool get [OPTION]... FILE...\n"
            "\n"
            "Arguments:\n"
            "  FILE                      Where it is\n"
            "\n"
            "Options:\n"
            "  -m, --mode fast|slow      How; may be repeated\n"
            "  --name TEXT               Name [x-y] ($TOOL_NAME)\n"
            "  --dry                     Do nothing\n"
            "\n"
            ".first\n"
            "last\n");
  VerbHelp wide = MakeHelp();
  for (int i = 0; i < 50; ++i) wide.verbs[0].description += " and more";
  EXPECT_THAT(RenderHelp(wide), HasSubstr("\n                            and more"));
}

TEST(HelpTest, BashGetsVerbsOptionsAndValues) {
  const std::string script = RenderBashCompletion(MakeHelp());
  EXPECT_THAT(script, HasSubstr("'tool') words='get' ;;"));
  EXPECT_THAT(script, HasSubstr("'tool get') words='-m --mode --name --dry' files=1 ;;"));
  EXPECT_THAT(script, HasSubstr("'tool get -m' | 'tool get --mode') mapfile -t COMPREPLY < "
                                "<(compgen -W 'fast slow'"));
  EXPECT_THAT(script, Not(HasSubstr("'tool get --dry'")));
}

TEST(HelpTest, ZshGetsDescriptionsWithoutWhatItWouldInterpret) {
  const std::string script = RenderZshCompletion(MakeHelp());
  EXPECT_THAT(script, HasSubstr("'get:Get a thing\\: it'\\''s \\[all\\]'"));
  EXPECT_THAT(script, HasSubstr("'*--mode[How]:value:(fast slow)'"));
  EXPECT_THAT(script, HasSubstr("'--dry[Do nothing]'"));
  EXPECT_THAT(script, HasSubstr("'*:FILE:_files'"));
}

TEST(HelpTest, TroffPrintsTextAsItIs) {
  const std::string page = RenderManPage(MakeHelp());
  EXPECT_THAT(page, HasSubstr(".TH TOOL 1\n"));
  EXPECT_THAT(page, HasSubstr("Get a thing: it\\(aqs [all].\n"));
  EXPECT_THAT(page,
              HasSubstr(".TP\n\\fB\\-m\\fR, \\fB\\-\\-mode\\fR \\fIfast|\\:slow\\fR\nHow.\n"));
  EXPECT_THAT(page, HasSubstr("Default: x\\-y.\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.first\nlast\n"));
}

}  // namespace
}  // namespace opserve::cli
