// What is wrong with a configuration file is said with its name and the line.

#include "server/program/config_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/program/program_options.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
    close(mkstemp(name.data()));
    path_ = name;
  }
  ~ConfigFileTest() override { std::filesystem::remove(path_); }

  // What the program says of a file with this text, after its own name and that of the file; empty
  // where it takes it.
  std::string Complaint(const std::string& text, const std::vector<std::string>& flags = {}) {
    std::ofstream(path_) << text;
    std::vector<const char*> argv = {"opserve-server", "--config", path_.c_str()};
    for (const std::string& flag : flags) argv.push_back(flag.c_str());
    const auto parsed = ParseProgramOptions(static_cast<int>(argv.size()), argv.data());
    const auto* const exit = std::get_if<EarlyExit>(&parsed);
    if (exit == nullptr) return "";
    EXPECT_EQ(exit->code, kExitUsage);
    const std::string line = exit->text.substr(0, exit->text.find('\n'));
    const std::string start = "opserve-server: " + path_ + ":";
    return line.starts_with(start) ? line.substr(start.size()) : line;
  }

  // The addresses to listen at of a file with this text; "refused" where it is not taken.
  std::vector<std::string> ListenOf(const std::string& text) {
    std::ofstream(path_) << text;
    const std::vector<const char*> argv = {"opserve-server", "--config", path_.c_str()};
    const auto parsed = ParseProgramOptions(static_cast<int>(argv.size()), argv.data());
    const auto* const options = std::get_if<ProgramOptions>(&parsed);
    return options == nullptr ? std::vector<std::string>{"refused"} : options->server.listen;
  }

  // What `value` is taken for, of a setting that takes any text.
  std::string ValueOf(const std::string& value) {
    std::ofstream(path_) << "ready-file = " << value << '\n';
    const std::vector<const char*> argv = {"opserve-server", "--config", path_.c_str()};
    const auto parsed = ParseProgramOptions(static_cast<int>(argv.size()), argv.data());
    const auto* const options = std::get_if<ProgramOptions>(&parsed);
    return options == nullptr ? "refused" : options->ready_file;
  }

  std::string path_;
};

TEST_F(ConfigFileTest, BadValues) {
  EXPECT_EQ(Complaint("# comment\n\npollers = 9999\n"),
            "3: --pollers: Value 9999 not in range 0 to 256");
  EXPECT_EQ(Complaint("workers = 2\nlog-level = \"loud\" # not quiet\n"),
            "2: --log-level: loud not in {debug,info,warn,error,off}");
  EXPECT_EQ(Complaint("listen = [\"127.0.0.1:1\",\n  \"127.0.0.1\"]\n"),
            "1: --listen: \"127.0.0.1\" has no port; use host:port, [::1]:port (port 0: any free "
            "one) or unix:/path");
  EXPECT_EQ(Complaint("socket-mode = \"0999\"\n"),
            "1: --socket-mode: Value 0999 is no octal number up to 0777");
  EXPECT_EQ(Complaint("tls-certificate = \"x\"\n"), "1: --tls-certificate requires --tls-key");
}

TEST_F(ConfigFileTest, ValuesThatAreOfNoType) {
  EXPECT_THAT(Complaint("pollers = 1\nkserve = maybe\n"),
              AllOf(StartsWith("2: "), HasSubstr("--kserve"), HasSubstr("maybe")));
  EXPECT_THAT(Complaint("pollers = 1\nworkers = many\n"),
              AllOf(StartsWith("2: "), HasSubstr("--workers"), HasSubstr("many")));
}

TEST_F(ConfigFileTest, ValuesThatDoNotFitEachOther) {
  EXPECT_EQ(Complaint("max-device-retry = 5\ndevice-retry = 9\n"),
            "1: --max-device-retry: 5 is less than --device-retry, 9");
  EXPECT_EQ(Complaint("\ndevice-retry = 61\n"),
            "2: --device-retry: 61 is more than --max-device-retry, 60");
  EXPECT_EQ(Complaint("device-retry = 9\n", {"--max-device-retry=5"}),
            "opserve-server: --max-device-retry: 5 is less than --device-retry, 9");
}

TEST_F(ConfigFileTest, SettingsThatAreThereTwice) {
  EXPECT_THAT(ListenOf("listen = 127.0.0.1:1\nworkers = 2\n"
                       "listen = [\"127.0.0.1:2\", \"127.0.0.1:3\"]\n"),
              ElementsAre("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"));
  EXPECT_EQ(Complaint("workers = 2\nworkers = 3\n"),
            "2: the setting \"workers\" is in line 1, too");
  EXPECT_EQ(Complaint("workers = 2\npollers = 1\n\nworkers = 3\n"),
            "4: the setting \"workers\" is in line 1, too");
  EXPECT_EQ(Complaint("kserve = true\nkserve = false\n"),
            "2: the setting \"kserve\" is in line 1, too");
  // With a quote too many, too.
  EXPECT_THAT(ListenOf("listen = 127.0.0.1:1\n\"listen = 127.0.0.1:2\n"),
              ElementsAre("127.0.0.1:1", "127.0.0.1:2"));
  // What is wrong with a file does not depend on the command line.
  EXPECT_EQ(Complaint("workers = 2\nworkers = 3\n", {"--workers=4"}),
            "2: the setting \"workers\" is in line 1, too");
}

TEST_F(ConfigFileTest, TheLineOfASettingThatIsThereTwice) {
  EXPECT_THAT(Complaint("listen = nonsense\nworkers = 2\nlisten = 127.0.0.1:2\n"),
              StartsWith("1: --listen: \"nonsense\""));
  EXPECT_THAT(Complaint("listen = 127.0.0.1:2\nworkers = 2\nlisten = nonsense\n"),
              StartsWith("3: --listen: \"nonsense\""));
  EXPECT_THAT(Complaint("client-weight = \"a=1\"\nclient-weight = \"a=1x\"\n"),
              StartsWith("2: --client-weight: Value a=1x"));
}

TEST_F(ConfigFileTest, AMarkOfTheByteOrderIsNoPartOfASetting) {
  EXPECT_EQ(Complaint("\xEF\xBB\xBFworkers = 2\n"), "");
  EXPECT_EQ(Complaint("\xEF\xBB\xBF# comment\npollers = 9999\n"),
            "2: --pollers: Value 9999 not in range 0 to 256");
}

TEST_F(ConfigFileTest, BracketsWithoutQuotes) {
  const std::string wrong =
      "a list ends before the end of the line; write quotes around what has brackets in it, such "
      "as \"[::1]:50051\"";
  EXPECT_EQ(Complaint("workers = 2\nlisten = [::1]:50051\npollers = 1\n"), "2: " + wrong);
  EXPECT_EQ(Complaint("listen = [\n  [::1]:50051,\n]\n"), "2: " + wrong);
  EXPECT_THAT(ListenOf("listen = \"[::1]:50051\"\n"), ElementsAre("[::1]:50051"));
  EXPECT_THAT(ListenOf("listen = [\"[::1]:1\",\n  '[::1]:2'\n]\n"),
              ElementsAre("[::1]:1", "[::1]:2"));
}

TEST_F(ConfigFileTest, AHashBetweenQuotesIsNoComment) {
  EXPECT_EQ(ValueOf(R"("/tmp/a#b")"), "/tmp/a#b");
  EXPECT_EQ(ValueOf(R"("/tmp/a #b"   # "a" comment)"), "/tmp/a #b");
  EXPECT_EQ(ValueOf(R"('/tmp/"#b' # comment)"), "/tmp/\"#b");
  EXPECT_EQ(ValueOf(R"("/tmp/it's#b" # it's one)"), "/tmp/it's#b");
  EXPECT_EQ(ValueOf("/tmp/a#b"), "/tmp/a");
  EXPECT_EQ(ValueOf("/tmp/it's#b"), "/tmp/it's");
  EXPECT_EQ(Complaint("listen = [\"unix:/tmp/#a\", # first\n  '127.0.0.1#' # second\n]\n"),
            "1: --listen: \"127.0.0.1#\" has no port; use host:port, [::1]:port (port 0: any "
            "free one) or unix:/path");
}

TEST_F(ConfigFileTest, UnknownSettings) {
  EXPECT_EQ(Complaint("workers = 2\nwrokers = 3\n"), "2: there is no setting \"wrokers\"");
  // These are flags, but no settings.
  EXPECT_EQ(Complaint("help = true\n"), "1: there is no setting \"help\"");
  EXPECT_EQ(Complaint("= 3\n"), "1: there is no setting \"\"");
}

TEST_F(ConfigFileTest, LinesThatAreNone) {
  EXPECT_EQ(Complaint("workers = 2\nworkers\n"), "2: \"workers\" has no value; write name=value");
  EXPECT_EQ(Complaint("[server]\nworkers = 2\n"), "1: [server] is a section; settings are in none");
  EXPECT_EQ(Complaint("workers = 2\nlisten = [\"127.0.0.1:1\",\n"),
            "2: the list that begins here has no end");
}

TEST_F(ConfigFileTest, ErrorsOfFlagsAreNotTheFiles) {
  EXPECT_EQ(Complaint("pollers = 2\n", {"--pollers", "999"}),
            "opserve-server: --pollers: Value 999 not in range 0 to 256");
  EXPECT_EQ(Complaint("workers = 2\n", {"--pollers=999"}),
            "opserve-server: --pollers: Value 999 not in range 0 to 256");
}

TEST_F(ConfigFileTest, WhatIsRightIsTaken) {
  EXPECT_EQ(Complaint("; a comment\n# another\n\n\"workers\" = 2 # two\n"
                      "listen = [\n  \"127.0.0.1:1\", # first\n  \"127.0.0.1:2\"\n]\n"
                      "socket-mode = \"\"\nposix-shared-memory = true\n"),
            "");
}

}  // namespace
}  // namespace opserve::testing
