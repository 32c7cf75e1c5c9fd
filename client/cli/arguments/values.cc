#include "client/cli/arguments/values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/rpc/client_name.h"

namespace opserve::cli {

namespace {

// What is wrong with text that goes to the server; empty: nothing.
std::string CheckUtf8(const std::string& text) {
  try {
    // It takes text that is UTF-8 alone.
    static_cast<void>(nlohmann::json(text).dump());
  } catch (const nlohmann::json::type_error&) {
    return "the text is not valid UTF-8";
  }
  return "";
}

std::string CheckFileOrHandle(const std::string& text) {
  return HandleOf(text) ? CheckUtf8(text) : "";
}

}  // namespace

TakeText TakeAny(std::string& text) {
  return [&text](const std::string& given) -> std::string {
    text = given;
    return "";
  };
}

TakeText TakeUtf8(std::string& text) {
  return [&text](const std::string& given) -> std::string {
    std::string complaint = CheckUtf8(given);
    if (complaint.empty()) text = given;
    return complaint;
  };
}

TakeText AppendAny(std::vector<std::string>& texts) {
  return [&texts](const std::string& given) -> std::string {
    texts.push_back(given);
    return "";
  };
}

TakeText AppendUtf8(std::vector<std::string>& texts) {
  return [&texts](const std::string& given) -> std::string {
    std::string complaint = CheckUtf8(given);
    if (complaint.empty()) texts.push_back(given);
    return complaint;
  };
}

TakeText TakeFileOrHandle(std::string& text) {
  return [&text](const std::string& given) -> std::string {
    std::string complaint = CheckFileOrHandle(given);
    if (complaint.empty()) text = given;
    return complaint;
  };
}

TakeText TakeDuration(absl::Duration& duration) {
  return [&duration](const std::string& text) -> std::string {
    if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return "";
    return absl::StrCat("'", text, "' is no positive duration such as 500ms, 10s or 2m");
  };
}

TakeText TakeDimensions(Dimensions& dimensions) {
  return [&dimensions](const std::string& text) -> std::string {
    dimensions.clear();
    for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar(",x"))) {
      uint32_t value;
      if (!absl::SimpleAtoi(part, &value)) {
        return absl::StrCat("'", text, "' is no list of numbers such as 2,3 or 2x3");
      }
      dimensions.push_back(value);
    }
    return "";
  };
}

TakeText AppendDimensions(std::vector<Dimensions>& list) {
  return [&list](const std::string& text) -> std::string {
    Dimensions& dimensions = list.emplace_back();
    return text == "-" ? "" : TakeDimensions(dimensions)(text);
  };
}

namespace {

// The integers, which may be none; nullopt where it is no list of them.
std::optional<Axes> AxesFrom(absl::string_view text) {
  Axes axes;
  if (text.empty()) return axes;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtoi(part, &axes.emplace_back())) return std::nullopt;
  }
  return axes;
}

}  // namespace

TakeText AppendNamed(std::vector<std::string>& texts, std::vector<std::string>& names) {
  return [&texts, &names](const std::string& text) -> std::string {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const std::string& name = parts.first;
    const bool is_named = absl::StrContains(text, '=') && !name.empty() &&
                          std::all_of(name.begin(), name.end(), absl::ascii_isalnum);
    if (is_named && parts.second.empty()) {
      return absl::StrCat("'", text, "' names a tensor but no file");
    }
    const std::string& given = is_named ? parts.second : text;
    std::string complaint = CheckFileOrHandle(given);
    if (!complaint.empty()) return complaint;
    texts.push_back(given);
    names.push_back(is_named ? name : "");
    return "";
  };
}

TakeText AppendAttribute(std::vector<Attribute>& attributes) {
  return [&attributes](const std::string& text) -> std::string {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const auto& [name, value] = parts;
    if (name.empty() || !absl::StrContains(text, '=')) {
      return absl::StrCat("'", text, "' is not Name=Value, such as RoundingMode=TOWARD_ZERO");
    }
    std::string complaint = CheckUtf8(text);
    if (!complaint.empty()) return complaint;
    int64_t integer;
    uint64_t large_integer;
    double number;
    std::optional<Axes> axes;
    if (absl::SimpleAtoi(value, &integer)) {
      attributes.push_back({name, integer});
    } else if (absl::SimpleAtoi(value, &large_integer)) {
      attributes.push_back({name, large_integer});
    } else if (absl::SimpleAtod(value, &number)) {
      attributes.push_back({name, number});
    } else if (axes = AxesFrom(value); axes) {
      attributes.push_back({name, *std::move(axes)});
    } else {
      attributes.push_back({name, value});
    }
    return "";
  };
}

TakeText TakeType(DataType& type) {
  return [&type](const std::string& text) -> std::string {
    const std::optional<DataType> found = DataTypeFromName(text);
    if (found) type = *found;
    if (found) return "";
    std::string names;
    for (DataType known : kAllDataTypes) absl::StrAppend(&names, " ", std::string(NameOf(known)));
    return absl::StrCat("'", text, "' is none of:", names);
  };
}

TakeText TakeClientName(std::string& name) {
  return [&name](const std::string& text) -> std::string {
    const absl::Status checked = client_internal::CheckClientName(text);
    if (checked.ok()) name = text;
    return std::string(checked.message());
  };
}

}  // namespace opserve::cli
