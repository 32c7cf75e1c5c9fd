#!/usr/bin/python3
"""That clang-tidy finds in the project's own files what it finds without its plugin, and looks at no others.

    tests/deploy/own_code_test.py BUILD

deploy/lint.sh calls it, once deploy/run-clang-tidy.py has compiled the plugin into BUILD.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tidy_script import tidy

# A header of the system, in which nothing may be found.
LIBRARY = """
#pragma once
#include <string>
#define DECLARE(name, expression) inline bool name(const std::string& text) { return expression; }
namespace library {
inline bool IsEmpty(const std::string& text) { return text.size() == 0; }
template <class T>
T* Nothing() { return 0; }
}
"""
# A line that ends in the name of a check must be found by it, and no other must be.
HEADER = """
#pragma once
#include <string>
#include <utility>
#include <vector>
namespace planted {
inline bool IsEmpty(const std::string& text) { return text.size() == 0; }  // readability-container-size-empty
template <class T>
bool HasNone(const std::vector<T>& all) { return all.size() == 0; }  // readability-container-size-empty
inline std::string Twice(std::string text) {
  std::string taken = std::move(text);
  return taken + text;  // bugprone-use-after-move
}
struct Base { virtual ~Base() = default; virtual void Do(); };
struct Derived : Base { virtual void Do(); };  // modernize-use-override
}
"""
SOURCE = """
#include <cstring>
#include <functional>
#include <memory>
#include <vector>
#include <library.h>
#include "tests/planted.h"
DECLARE(IsPlanted, text.size() == 0)  // readability-container-size-empty
namespace planted {
size_t LengthOf(std::string text) { return text.size(); }  // performance-unnecessary-value-param
namespace {
struct Kept { std::string text; };
auto Made() { return std::unique_ptr<Kept>(new Kept()); }  // modernize-make-unique
}
void Walk(const std::vector<std::string>& all) {
  for (const auto text : all) Made()->text = text;  // performance-for-range-copy
}
bool IsSame(const char* a, const char* b) { return std::strcmp(a, b) == -1; }  // bugprone-suspicious-string-compare
int* Nothing() { return library::Nothing<int>() != nullptr ? nullptr : 0; }  // modernize-use-nullptr
struct Key {};
}
template <>
struct std::hash<planted::Key> {
  size_t operator()(planted::Key) const { return std::string().size() == 0; }  // readability-container-size-empty
};
"""
FOUND = re.compile(r"^(\S+?):(\d+):\d+: error: .*\[([\w-]+),-warnings-as-errors\]$", re.MULTILINE)
PLUGIN = None


class OwnCode(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def plant(self, name, text):
        """Writes a file; returns what is to be found in it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        lines = [line.partition("  // ")[2] for line in text.splitlines()]
        return {(str(path), number, check) for number, check in enumerate(lines, 1) if check}

    def test_what_is_planted_is_found_and_nothing_in_headers_of_the_system(self):
        self.plant("tests/system/library.h", LIBRARY)
        planted = self.plant("tests/planted.h", HEADER) | self.plant("tests/planted.cc", SOURCE)
        done = subprocess.run([*tidy.TIDY, f"{self.root}/tests/planted.cc", f"--load={PLUGIN}", "--system-headers",
                               "--", "-std=c++20", f"-I{self.root}", f"-isystem{self.root}/tests/system"],
                              capture_output=True, text=True, check=False)
        found = {(file, int(line), check) for file, line, check in FOUND.findall(done.stdout)}
        self.assertEqual(found, planted, done.stdout + done.stderr)


if __name__ == "__main__":
    PLUGIN = pathlib.Path(sys.argv.pop()).resolve() / "tidy" / tidy.PLUGIN
    unittest.main()
