#!/usr/bin/python3
"""Checks that no two headers define a type of the same name; deploy/lint.sh calls it.

    deploy/check-type-names.py [HEADER...]

Two definitions of one name, in programs that link both, break C++'s one-definition rule: the linker
keeps one of each pair of inline functions and says nothing. Without arguments, looks at every header
of the repository. Prints each name that two headers define, with both places, and exits with 1.

A name is that of a class, struct, union or enum with its namespaces and the types around it. Forward
declarations, specialisations of templates, what functions and unnamed namespaces hold, and what
macros expand to do not count.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# What must not be read as code. Line breaks stay, so that lines keep their numbers.
HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[^\s\w]")
TYPE_KEYWORDS = {"class", "struct", "union", "enum"}


def tokens_of(text):
    """Yields every token of a header's code with its line."""
    text = HIDDEN.sub(lambda hidden: "\n" * hidden.group().count("\n"), text)
    line = 1
    last = 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        yield match.group(), line


def heading(words):
    """What the brace behind `words`, a declaration's tokens, opens: its kind and its name."""
    if "namespace" in words:
        name = "".join(words[words.index("namespace") + 1:])
        return ("namespace", name) if name else ("hidden", "")
    depth = 0
    names = None  # of the last type keyword outside of template parameters and parentheses
    for at, word in enumerate(words):
        if word in "<([":
            if names and word == "<":
                return "hidden", ""  # a specialisation
            depth += 1
        elif word in ">)]":
            depth -= 1
        elif depth > 0:
            continue
        elif word in TYPE_KEYWORDS:
            names = names or []
        elif names is not None:
            if word == ":":
                break  # bases, or the type of an enum
            if not re.match(r"\w|::", word):
                return "hidden", ""  # a variable or a function of the type
            names.append(word)
    if names and names[-1] == "final":
        names.pop()
    if not names or words[-1] == ")":  # the latter: a function that returns the type
        return "hidden", ""
    # A qualified name is one; of several words the last is the name, those before it are macros.
    return "type", re.search(r"(?:\w+::)*\w+$", " ".join(names).replace(" :: ", "::")).group()


def types_of(text):
    """Yields the qualified name and the line of every type that a header defines."""
    scopes = []  # kind and name of every open brace
    words = []  # of the declaration that has begun
    start = 1
    for token, line in tokens_of(text):
        if token == "{":
            kind, name = heading(words)
            is_seen = all(outer != "hidden" for outer, _ in scopes)
            if kind == "type" and is_seen:
                yield "::".join([outer for _, outer in scopes] + [name]), start
            scopes.append((kind, name))
            words = []
        elif token == "}":
            if scopes:
                scopes.pop()
            words = []
        elif token == ";":
            words = []
        elif token == ":" and words and words[-1] in ("public", "protected", "private"):
            words = []
        else:
            if not words:
                start = line
            words.append(token)


def headers_of_repository():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.h"],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / path for path in listed if (ROOT / path).exists()]


def shown(path):
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def main(arguments):
    headers = [pathlib.Path(path).resolve() for path in arguments] or headers_of_repository()
    first = {}  # by name: header and line
    clashes = 0
    for header in headers:
        for name, line in types_of(header.read_text(encoding="utf-8")):
            known, known_line = first.setdefault(name, (header, line))
            if known == header:
                continue
            clashes += 1
            print(f"{shown(header)}:{line}: {name} is also defined at {shown(known)}:{known_line}")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
