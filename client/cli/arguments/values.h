// File: client/cli/arguments/values.h
//
// From the texts of options to values. Each function returns one that writes to its target and
// complains about texts that it does not understand; the target must outlive it. Stateless.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_VALUES_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/arguments/arguments.h"
#include "client/cli/arguments/verb.h"

namespace opserve::cli {

TakeText TakeAny(std::string& text);
// What goes to the server as text.
TakeText TakeUtf8(std::string& text);
TakeText AppendAny(std::vector<std::string>& texts);
TakeText AppendUtf8(std::vector<std::string>& texts);
// A file, whose name may be any bytes, or "tensor:HANDLE", which goes to the server.
TakeText TakeFileOrHandle(std::string& text);
// Such a text, or "Name=TEXT" with a name of letters and digits; appended to both lists.
TakeText AppendNamed(std::vector<std::string>& texts, std::vector<std::string>& names);
// A positive duration such as 500ms.
TakeText TakeDuration(absl::Duration& duration);
// "2x3" or "2,3".
TakeText TakeDimensions(Dimensions& dimensions);
// Likewise, appended to a list with one entry per input; "-" leaves an input as it is in its file.
TakeText AppendDimensions(std::vector<Dimensions>& list);
// "Name=Value"; the value is an integer, a float, or else the name of an enum value.
TakeText AppendAttribute(std::vector<Attribute>& attributes);
TakeText TakeType(DataType& type);
TakeText TakeClientName(std::string& name);

// A number from `least` to `most`.
template <class Number>
TakeText TakeNumber(Number least, Number most, Number& number) {
  return [least, most, &number](const std::string& text) -> std::string {
    double parsed;
    if (absl::SimpleAtod(text, &parsed) && parsed >= static_cast<double>(least) &&
        parsed <= static_cast<double>(most) &&
        static_cast<double>(static_cast<Number>(parsed)) == parsed) {
      number = static_cast<Number>(parsed);
      return "";
    }
    return absl::StrCat("'", text, "' is no number from ", least, " to ", most);
  };
}

// Names of enum values in lower case, as in "low|normal|high".
template <class Enum>
std::string NamesOf(const std::vector<Enum>& values, absl::string_view separator) {
  std::string names;
  for (Enum value : values) {
    absl::StrAppend(&names, names.empty() ? "" : separator, absl::AsciiStrToLower(NameOf(value)));
  }
  return names;
}

// One of a few names; "gpu" and "GPU" are the same.
template <class Enum>
TakeText TakeName(std::vector<Enum> values, Enum& chosen) {
  return [values = std::move(values), &chosen](const std::string& text) -> std::string {
    for (Enum value : values) {
      if (!absl::EqualsIgnoreCase(NameOf(value), text)) continue;
      chosen = value;
      return "";
    }
    return absl::StrCat("'", text, "' is none of: ", NamesOf(values, ", "));
  };
}

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_VALUES_H_
