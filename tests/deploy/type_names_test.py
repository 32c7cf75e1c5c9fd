#!/usr/bin/python3
"""Tests deploy/check-type-names.py on headers that are made up, and on those of the repository."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "deploy/check-type-names.py"


def run_check(*headers):
    return subprocess.run([sys.executable, CHECK, *headers], capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL)


class TypeNames(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, one, other):
        """Checks two headers of these texts; returns the exit code and what was printed."""
        paths = [self.folder / "one.h", self.folder / "other.h"]
        for path, text in zip(paths, (one, other)):
            path.write_text(text, encoding="utf-8")
        done = run_check(*paths)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def assert_clash(self, name, one, other):
        code, printed = self.check(one, other)
        self.assertIn(f" {name} is also defined at ", printed)
        self.assertEqual(len(printed.splitlines()), 1, printed)
        self.assertEqual(code, 1)

    def assert_no_clash(self, one, other):
        self.assertEqual(self.check(one, other), (0, ""))

    def test_a_pair_is_reported_with_both_places(self):
        code, printed = self.check("namespace a {\n\nstruct Counters {\n  int requests;\n};\n}\n",
                                   "namespace a {\nstruct Counters { long requests; };\n}\n")
        self.assertEqual(printed, f"{self.folder}/other.h:2: a::Counters is also defined at "
                         f"{self.folder}/one.h:3\n")
        self.assertEqual(code, 1)

    def test_every_way_to_define_a_type(self):
        for definition in ("class X final : public Base<int> {};",
                           "class X : private a::Base {};",
                           "union X { int a; };",
                           "enum X { kA };",
                           "enum class X : unsigned char { kA };",
                           "template <class T, class U = B<T>> class X {};",
                           "struct [[nodiscard]] X {};",
                           "class ABSL_LOCKABLE X {};",
                           "struct alignas(64) X {};"):
            with self.subTest(definition):
                self.assert_clash("a::b::X", f"namespace a::b {{ {definition} }}",
                                  f"namespace a {{ namespace b {{ {definition} }} }}")

    def test_a_nested_type_counts_under_the_outer_one(self):
        nested = "struct {} {{ public: enum class Kind {{ kA }}; void F() {{ struct Kind {{}}; }} }};"
        self.assert_no_clash(nested.format("A"), nested.format("B"))
        self.assert_clash("A::Kind", "struct A; struct A::Kind {};",
                          "namespace { } class A { enum Kind {}; };")

    def test_namespaces_tell_names_apart(self):
        self.assert_no_clash("namespace a { struct X {}; }", "namespace a::b { struct X {}; }")
        self.assert_no_clash("namespace a { struct X {}; }", "struct X {};")

    def test_what_is_no_definition(self):
        for text in ("struct X;", "enum class X : int;", "friend class X;",
                     "template <> struct X<int> {};", "X Make() { struct X {}; }",
                     "struct X Make() { return {}; }", "struct X instance = {};",
                     "template <class X> struct Y_ONE {};", "namespace { struct X {}; }",
                     "#define MAKE(X) \\\n  struct X { \\\n  };", "// struct X {};",
                     "/* struct X {}; */", "const char* kText = \"struct X {};\";"):
            with self.subTest(text):
                self.assert_no_clash("struct X {};", text)

    def test_one_header_may_define_a_type_per_platform(self):
        both = "#ifdef _WIN32\nstruct X { int a; };\n#else\nstruct X { long a; };\n#endif\n"
        self.assert_no_clash(both, "struct Y {};")

    def test_text_does_not_hide_the_code_behind_it(self):
        self.assert_clash("X", "const char kQuote = '\"'; const int kMany = 1'000'000;\nstruct X {};",
                          "const char* kRaw = R\"(\" { )\";  // { isn't code\nstruct X {};")

    @unittest.skipUnless((ROOT / ".git").exists(), "git tells which headers there are")
    def test_the_repository_has_no_such_pair(self):
        done = run_check()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
