// File: tests/modules/fake_dxcore.h
//
// How a test drives what stands for libdxcore.so: the adapters of a machine, which may be odd, and
// whose driver may be updated. Found in the library by name.

#ifndef OPSERVE_TESTS_MODULES_FAKE_DXCORE_H_
#define OPSERVE_TESTS_MODULES_FAKE_DXCORE_H_

namespace opserve::testing {

// What is wrong with an adapter.
enum class AdapterOddity : int {
  kNone,
  kVanished,         // it is counted, and cannot be had
  kNoDescription,    // its name is not told
  kHugeDescription,  // its name is said to have more bytes than there are
  kNoLuid,           // its LUID is not told
  kNoDriverVersion,  // its driver's version is not told
  kMuchMemory,       // it is said to have all the memory that a number can tell
};

}  // namespace opserve::testing

// A machine anew, with so many adapters: 0 is a GPU of its own, the others, of which there are at
// most 2, are software adapters that only their LUIDs tell apart. -1: DXCore cannot even make its
// factory.
extern "C" void FakeDxcoreReset(int count);

// Of the adapter with this number, as counted above.
extern "C" void FakeDxcoreSetOddity(int adapter, opserve::testing::AdapterOddity oddity);

// Another driver: adapters and lists of before are of no more use, and those of new lists come in
// the opposite order, with the LUIDs of before or others.
extern "C" void FakeDxcoreUpdateDriver(bool has_new_luids);

// Objects that DXCore made and nobody has released.
extern "C" int FakeDxcoreLiveObjects();

#endif  // OPSERVE_TESTS_MODULES_FAKE_DXCORE_H_
