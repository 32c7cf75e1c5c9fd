#!/usr/bin/python3
"""That all locks of the C++ sources are those of proto/base/mutex.h, which Clang's thread-safety analysis knows.

It knows nothing of std::mutex, and ThreadSanitizer sees nothing of Abseil's mutexes as Debian builds them.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("proto", "server", "client", "kernels", "tests")
# The lock itself. And the Python module, which no sanitizer build has.
EXCEPTIONS = ("proto/base/mutex.h", "client/python/core/")
OTHER_LOCK = re.compile(r"\bstd::(?:\w+_)?mutex\b|\babsl::Mutex\b|\bpthread_mutex_t\b")


def other_locks(text):
    """Numbers of the lines of a source that name another lock outside of comments."""
    return [number for number, line in enumerate(text.splitlines(), 1) if OTHER_LOCK.search(line.split("//")[0])]


class Locks(unittest.TestCase):
    def test_sources_have_no_other_locks(self):
        found = [f"{path.relative_to(ROOT)}:{number}"
                 for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))
                 if path.suffix in (".h", ".cc") and
                 not path.relative_to(ROOT).as_posix().startswith(EXCEPTIONS)
                 for number in other_locks(path.read_text(encoding="utf-8"))]
        self.assertEqual(found, [])

    def test_other_locks_are_found(self):
        self.assertEqual(other_locks("int x;\nmutable std::mutex mutex_;\nstd::recursive_mutex m;\nabsl::Mutex a;\n"),
                         [2, 3, 4])

    def test_comments_and_our_own_are_not(self):
        self.assertEqual(other_locks("// Unlike std::mutex.\nmutable Mutex mutex_;\n"), [])


if __name__ == "__main__":
    unittest.main()
