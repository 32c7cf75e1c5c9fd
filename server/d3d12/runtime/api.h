// File: server/d3d12/runtime/api.h
//
// The only place that includes Direct3D 12's headers, and the place that fixes the calling
// convention of COM methods, which differs between the run times:
//   vkd3d    (the default) libvkd3d's methods use the Microsoft convention on x86-64; the headers'
//            Linux stubs would leave it out
//   WSL      (OPSERVE_D3D12_WSL) libd3d12.so's use the platform's, as the stubs say
//   Windows  (_WIN32) there is only one
// Code compiled for one must never be linked with code compiled for another: the headers' inline
// functions have the same names and call methods in different ways. No COM pointer may leave the
// folder.
//
// Methods that return a structure by value differ between the conventions in a way that this header
// cannot repair: do not call them. With root descriptors only, none is needed.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_API_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_API_H_

// The order of what follows matters: macros first, then the header that defines IUnknown.
// clang-format off
#ifdef _WIN32

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// mingw-w64 has an older version of it than d3d12.h asks for, which does no harm.
#include <rpc.h>
#include <rpcndr.h>

#else

#include <basetsd.h>  // defines the two macros
#ifndef OPSERVE_D3D12_WSL
#undef STDMETHODCALLTYPE
#define STDMETHODCALLTYPE __attribute__((ms_abi))
#undef WINAPI
#define WINAPI __attribute__((ms_abi))
#endif
#include <wsl/winadapter.h>

#endif

#include <directx/d3d12.h>
#include <dxguids/dxguids.h>
#include <wrl/client.h>
// clang-format on

namespace opserve::d3d12 {

// Owns a reference to a COM object.
using Microsoft::WRL::ComPtr;

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_API_H_
