"""Runs opserve-server.exe under Wine for the scripts beside this one."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from testing.server_process import ServerProcess  # pylint: disable=wrong-import-position

WINE = "/usr/lib/wine/wine64"
WINE_SERVER = "/usr/lib/wine/wineserver64"
LIMIT_S = 300


def use_prefix(folder):
    """Has all programs of Wine that are started from now on keep their files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(WINEPREFIX=str(folder.resolve()), WINEDEBUG="-all", WINEDLLOVERRIDES="mscoree,mshtml=")


def end_wine():
    """Ends all programs of the prefix in use."""
    subprocess.run([WINE_SERVER, "-k"], check=False)


class WineServer(ServerProcess):
    """A ServerProcess of the program for Windows, which another program of Windows stops."""

    START_LIMIT_S = LIMIT_S

    def __init__(self, program, folder, arguments=(), runner=()):
        super().__init__(program, folder, arguments, runner=(*runner, WINE))
        self._program = program

    def stop(self):
        """Stops it by its event, and returns its exit code."""
        subprocess.run([WINE, self._program, "stop"], check=True, timeout=LIMIT_S)
        self.exit_code = self._process.wait(LIMIT_S)
        return self.exit_code

    def _stop(self):
        try:
            if self._process.poll() is None:
                self.stop()
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
