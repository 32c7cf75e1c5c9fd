// File: tests/modules/fake_wsl.h
//
// How a test drives the library that stands for libdxcore.so and libd3d12.so.

#ifndef OPSERVE_TESTS_MODULES_FAKE_WSL_H_
#define OPSERVE_TESTS_MODULES_FAKE_WSL_H_

// Number of adapters that DXCore is to have: 1 is a GPU of its own, 2 a software adapter as well.
// -1: it cannot even make its factory.
extern "C" void FakeWslSetAdapterCount(int count);

// Objects that DXCore made and nobody has released.
extern "C" int FakeWslLiveObjects();

#endif  // OPSERVE_TESTS_MODULES_FAKE_WSL_H_
