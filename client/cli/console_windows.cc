#include <windows.h>

#include "client/cli/console.h"

namespace opserve::cli {

bool IsConsole(int descriptor) {
  const HANDLE console = GetStdHandle(descriptor == 1 ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
  DWORD mode = 0;
  if (GetConsoleMode(console, &mode) == 0) return false;
  // Texts are UTF-8 wherever they come from.
  SetConsoleOutputCP(CP_UTF8);
  return SetConsoleMode(console,
                        mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

}  // namespace opserve::cli
