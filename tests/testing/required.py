"""Tests that need what not every machine has: skipped there, unless the machine must have it."""

import os
import sys

#What ctest takes for a skipped test.
SKIPPED = 77


def is_required(tool):
    """Whether OPSERVE_REQUIRE, a list of names with commas between them, has `tool`.

    required.h reads the same variable.
    """
    return tool in os.environ.get("OPSERVE_REQUIRE", "").split(",")


def skip_without(tool, reason):
    """Ends the program as skipped for lack of `tool`, or as failed where the tool is required."""
    if is_required(tool):
        sys.exit(f"OPSERVE_REQUIRE names {tool}: {reason}")
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
