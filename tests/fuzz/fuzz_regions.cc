// Fuzzes what a client can say about places: packets that register and unregister shared memory,
// and then a request whose tensors are in regions or resident. What is accepted must follow the
// rules, lie within its region and hold the bytes that descriptors need.

#include <cstdint>

#include "tests/fuzz/place_check.h"
#include "tests/fuzz/region_case.pb.h"
#include "tests/fuzz/region_world.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace opserve::fuzz;
  constexpr int kMaxPackets = 16;
  RegionCase input;
  if (!input.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  if (input.packets_size() > kMaxPackets) return 0;
  RegionWorld world;
  for (const RegionPacket& packet : input.packets()) world.Answer(packet);
  CheckPlaces(world, input.request());
  return 0;
}
