#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/validate/request_validator.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {
namespace {

std::shared_ptr<const Invocation> SomeInvocation(uint64_t output_bytes) {
  Invocation invocation;
  invocation.output_bytes = output_bytes;
  return std::make_shared<const Invocation>(invocation);
}

// Requests that differ in one part each; several differ only in where a part ends.
std::vector<std::string> KeysOfDifferentRequests() {
  std::vector<std::string> keys;
  const auto add = [&keys](const auto& change) {
    RequestBuilder builder("ELEMENT_WISE_ROUND");
    builder.Enum("RoundingMode", "TOWARD_ZERO").Input({.sizes = {2, 3}});
    change(builder);
    keys.push_back(CacheKey(builder.request()));
  };
  add([](RequestBuilder&) {});
  add([](RequestBuilder& b) { b.request().operator_name = "ELEMENT_WISE_ROUN"; });
  add([](RequestBuilder& b) { b.request().feature_level = "3_0"; });
  add([](RequestBuilder& b) {
    b.request().operator_name = "ELEMENT_WISE_ROUN";
    b.request().feature_level = "D";
  });
  add([](RequestBuilder& b) { b.request().attributes.clear(); });
  add([](RequestBuilder& b) { b.request().attributes[0].name = "RoundingModeT"; });
  add([](RequestBuilder& b) { b.request().attributes[0].value = absl::string_view("OWARD_ZERO"); });
  add([](RequestBuilder& b) { b.request().attributes[0].value = std::monostate(); });
  add([](RequestBuilder& b) { b.request().attributes[0].value = int64_t{1}; });
  add([](RequestBuilder& b) { b.request().attributes[0].value = 1.0; });
  // The same bits.
  add([](RequestBuilder& b) { b.request().attributes[0].value = int64_t{0}; });
  add([](RequestBuilder& b) { b.request().attributes[0].value = uint64_t{0}; });
  add([](RequestBuilder& b) { b.request().attributes[0].value = 0.0; });
  add([](RequestBuilder& b) { b.Int("Second", 1); });
  static constexpr uint32_t kSizes[] = {2, 3, 3, 1};
  add([](RequestBuilder& b) { b.request().inputs[0].sizes = std::span(kSizes).first(3); });
  add([](RequestBuilder& b) { b.request().inputs[0].sizes = std::span(kSizes).first(1); });
  add([](RequestBuilder& b) { b.request().inputs[0].strides = std::span(kSizes).last(2); });
  add([](RequestBuilder& b) {
    b.request().inputs[0].sizes = std::span(kSizes).first(1);
    b.request().inputs[0].strides = std::span(kSizes).subspan(1, 1);
  });
  add([](RequestBuilder& b) { b.request().inputs[0].name = "InputTensor"; });
  add([](RequestBuilder& b) { b.request().inputs[0].data_type = 2; });
  add([](RequestBuilder& b) { b.request().payload_bytes[0] = 28; });
  add([](RequestBuilder& b) { b.request().payload_bytes.push_back(0); });
  add([](RequestBuilder& b) { b.request().output = TensorDescView(); });
  add([](RequestBuilder& b) { b.Output({.sizes = {2, 3}}); });
  return keys;
}

TEST(CacheKeyTest, DiffersWhereverRequestsDiffer) {
  const std::vector<std::string> keys = KeysOfDifferentRequests();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_EQ(KeysOfDifferentRequests(), keys);
}

TEST(RequestCacheTest, FindsWhatWasStoredUnderExactlyThatKey) {
  RequestCache cache(16);
  const auto invocation = SomeInvocation(1);
  cache.Insert("key", invocation);
  EXPECT_EQ(cache.Find("key"), invocation);
  EXPECT_EQ(cache.Find("ke"), nullptr);
  EXPECT_EQ(cache.Find(""), nullptr);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(RequestCacheTest, KeepsTheFirstOfEqualKeys) {
  RequestCache cache(16);
  const auto first = SomeInvocation(1);
  cache.Insert("key", first);
  cache.Insert("key", SomeInvocation(2));
  EXPECT_EQ(cache.Find("key"), first);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(RequestCacheTest, NeverGrowsBeyondItsBound) {
  constexpr size_t kCapacity = 32;
  RequestCache cache(kCapacity);
  for (int i = 0; i < 10'000; ++i) cache.Insert(std::to_string(i), SomeInvocation(1));
  EXPECT_LE(cache.size(), kCapacity + 7);
  EXPECT_GE(cache.size(), kCapacity / 2);
}

TEST(RequestCacheTest, KeepsWhatIsUsed) {
  RequestCache cache(64);
  const auto hot = SomeInvocation(7);
  cache.Insert("hot", hot);
  for (int i = 0; i < 10'000; ++i) {
    cache.Insert(std::to_string(i), SomeInvocation(1));
    ASSERT_EQ(cache.Find("hot"), hot) << i;
  }
  EXPECT_EQ(cache.Find("0"), nullptr);
}

TEST(RequestCacheTest, HoldsNothingWhenSwitchedOff) {
  RequestCache cache(0);
  cache.Insert("key", SomeInvocation(1));
  EXPECT_EQ(cache.Find("key"), nullptr);
}

TEST(RequestCacheTest, GivesEachKeyItsOwnEntryUnderContention) {
  RequestCache cache(64);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &wrong, t] {
      for (uint64_t i = 0; i < 5000; ++i) {
        const uint64_t number = (i * 7 + static_cast<uint64_t>(t)) % 100;
        const auto found = cache.Find(std::to_string(number));
        if (found == nullptr) cache.Insert(std::to_string(number), SomeInvocation(number));
        if (found != nullptr && found->output_bytes != number) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace opserve::testing
