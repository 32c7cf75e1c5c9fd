// File: proto/base/empty_values.h
//
// Empty values of options on a command line that CLI11 parses.

#ifndef OPSERVE_PROTO_BASE_EMPTY_VALUES_H_
#define OPSERVE_PROTO_BASE_EMPTY_VALUES_H_

#include <algorithm>
#include <string>
#include <vector>

namespace opserve {

// Whether `word` is the name of an option with a value, "--name", of the app or of one below it.
template <class App>
bool TakesValue(const App& app, const std::string& word) {
  if (word.size() <= 2 || word.compare(0, 2, "--") != 0) return false;
  const auto* const option = app.get_option_no_throw(word);
  if (option != nullptr && option->get_items_expected_max() > 0) return true;
  const auto below = app.get_subcommands([](const App*) { return true; });
  return std::any_of(below.begin(), below.end(),
                     [&word](const App* one) { return TakesValue(*one, word); });
}

// What App::parse takes for these words: the last one first, and each "--name=" as two of them,
// "--name" and "", as CLI11 would take the next word for the value. `App` is CLI::App, whose header
// not everybody has.
template <class App>
std::vector<std::string> WordsToParse(const App& app, const std::vector<std::string>& words) {
  std::vector<std::string> split;
  // After "--" there are no options, and what follows the name of one is its value.
  bool is_value = false;
  bool has_options = true;
  for (const std::string& word : words) {
    has_options = has_options && (is_value || word != "--");
    const std::string name = word.substr(0, word.find('='));
    if (has_options && !is_value && name.size() + 1 == word.size() && TakesValue(app, name)) {
      split.insert(split.end(), {name, ""});
      continue;
    }
    is_value = has_options && !is_value && TakesValue(app, word);
    split.push_back(word);
  }
  std::reverse(split.begin(), split.end());
  return split;
}

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_EMPTY_VALUES_H_
