// File: server/program/config_file.h
//
// The configuration file as CLI11 reads it, with errors that say in which line they are.

#ifndef OPSERVE_SERVER_PROGRAM_CONFIG_FILE_H_
#define OPSERVE_SERVER_PROGRAM_CONFIG_FILE_H_

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"

namespace opserve {

// Takes what CLI11's own reader takes, but for what that would skip or misread in silence: lines
// without a "=", sections, lists without an end, settings that are there twice. A mark of the byte
// order is no part of the first line. Belongs to one thread.
class ConfigFile final : public CLI::ConfigTOML {
 public:
  // `app`: whose settings there are. Must outlive the object.
  explicit ConfigFile(const CLI::App& app) : app_(app) {}

  // Throws CLI::ConfigError where a line is none, or names no setting.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

  // What is wrong, with "FILE:LINE: " before it where the file is at fault: for errors of
  // from_config, and for those about a setting that the file has and `arguments` do not.
  std::string Locate(const CLI::ParseError& error, const std::string& file,
                     const std::vector<std::string>& arguments) const;

 private:
  // A line with a setting, and what it has there.
  struct Place {
    int line = 0;
    std::vector<std::string> inputs;
  };

  // The name in "name=value"; throws where there is none, or where no setting has it.
  std::string NameIn(int line, absl::string_view content) const;
  // Throws, about that line.
  [[noreturn]] void Refuse(int line, const std::string& what) const;
  [[noreturn]] void RefuseEarlyEnd(int line) const;

  const CLI::App& app_;
  // In order. CLI11 calls from_config as a constant method.
  mutable std::map<std::string, std::vector<Place>> places_;
  // The line that from_config refused; 0: none.
  mutable int refused_line_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_CONFIG_FILE_H_
