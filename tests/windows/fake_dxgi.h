// File: tests/windows/fake_dxgi.h
//
// How a test drives what stands for dxgi.dll, and for d3d12.dll as far as it goes without a device.
// Found in the library by name.

#ifndef OPSERVE_TESTS_WINDOWS_FAKE_DXGI_H_
#define OPSERVE_TESTS_WINDOWS_FAKE_DXGI_H_

// A machine with four adapters: one that cannot be had, "first", one that is not described, and
// "second", which has no LUID. D3D12CreateDevice answers E_FAIL for "first", E_NOINTERFACE for
// "second", and DXGI_ERROR_DEVICE_REMOVED for adapters of factories that are not current.
extern "C" void FakeDxgiReset();

// Another driver: factories of before are not current any more, and new ones have the adapters in
// the opposite order and with other LUIDs.
extern "C" void FakeDxgiUpdateDriver();

// Objects that nobody has released.
extern "C" int FakeDxgiLiveObjects();

#endif  // OPSERVE_TESTS_WINDOWS_FAKE_DXGI_H_
