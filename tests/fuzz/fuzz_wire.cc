// Fuzzes the splitting of requests into header and payloads: on any bytes, cut into any slices, it
// must say what protobuf's parser says, and read nothing beyond a slice. Seeds are whole messages,
// so the cuts follow from a hash of the bytes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/testing/wire_check.h"

namespace {

void Check(std::string_view message, const std::vector<size_t>& cuts) {
  const std::string difference = opserve::testing::WireDifference(message, cuts);
  if (difference.empty()) return;
  std::fprintf(stderr, "split message: %s\n", difference.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(bytes), size);
  Check(message, {});
  std::mt19937_64 random(std::hash<std::string_view>()(message));
  std::vector<size_t> cuts(random() % 9);
  for (size_t& cut : cuts) cut = random() % (size + 1);
  std::sort(cuts.begin(), cuts.end());
  Check(message, cuts);
  return 0;
}
