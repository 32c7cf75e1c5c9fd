// File: server/d3d12/api.h
//
// The only place that includes Direct3D 12's headers, and the place that fixes the calling
// convention of COM methods. libvkd3d's methods use the Microsoft convention on x86-64; the
// headers' Linux stubs would leave it out. The folder must therefore never be linked with code that
// includes those headers in another way, and no COM pointer may leave it.
//
// Methods that return a structure by value differ between the conventions in a way that this header
// cannot repair: do not call them. With root descriptors only, none is needed.

#ifndef OPSERVE_SERVER_D3D12_API_H_
#define OPSERVE_SERVER_D3D12_API_H_

// Defines the two macros that follow; everything else must come after them.
#include <basetsd.h>

#undef STDMETHODCALLTYPE
#define STDMETHODCALLTYPE __attribute__((ms_abi))
#undef WINAPI
#define WINAPI __attribute__((ms_abi))

// The first one defines IUnknown, which the others need.
// clang-format off
#include <wsl/winadapter.h>
#include <directx/d3d12.h>
#include <dxguids/dxguids.h>
#include <wrl/client.h>
// clang-format on

namespace opserve::d3d12 {

// Owns a reference to a COM object.
using Microsoft::WRL::ComPtr;

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_API_H_
