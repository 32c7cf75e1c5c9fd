// The identifiers of the interfaces, which no library of mingw-w64 has all of.

// clang-format off
#include <initguid.h>
#include "server/d3d12/runtime/api.h"
#include <dxgi1_4.h>
// clang-format on
