"""deploy/run-clang-tidy.py as a module, which no import finds by its name."""

import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("run_clang_tidy", ROOT / "deploy" / "run-clang-tidy.py")
tidy = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = tidy
SPEC.loader.exec_module(tidy)
