// File: tests/unit/server/resident/store_fixture.h
//
// A store of resident tensors in simulated time, with short names for what tests do with it.

#ifndef OPSERVE_TESTS_UNIT_SERVER_RESIDENT_STORE_FIXTURE_H_
#define OPSERVE_TESTS_UNIT_SERVER_RESIDENT_STORE_FIXTURE_H_

#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "gtest/gtest.h"
#include "proto/base/sha256.h"
#include "server/resident/tensor_quota.h"
#include "server/resident/tensor_store.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {

// A tensor of `count` bytes.
inline TensorDesc Bytes(uint32_t count) {
  const uint32_t sizes[] = {count};
  return PackedDesc(DataType::kUint8, sizes);
}

inline Sha256Digest DigestOf(const std::string& text) {
  Sha256 sha256;
  sha256.Add(std::as_bytes(std::span(text)));
  return sha256.Finish();
}

// Writes a text.
inline auto Filler(const std::string& text) {
  return [text](std::byte* target) { std::memcpy(target, text.data(), text.size()); };
}

inline constexpr uint32_t kKiB = 1024;

class TensorStoreTest : public ::testing::Test {
 protected:
  // Room for two tensors of 512 KiB of a client, and for three of all.
  static inline const TensorLimits kLimits{.max_bytes_per_client = 2 * TensorCharge(512 * kKiB),
                                           .max_bytes = 3 * TensorCharge(512 * kKiB),
                                           .max_tensors_per_client = 5,
                                           .max_tensors = 8,
                                           .default_ttl = std::chrono::seconds(10),
                                           .max_ttl = std::chrono::seconds(100)};

  std::string Create(const std::string& client, const NewTensor& tensor) {
    const auto created = store_.Create(client, tensor);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->handle : "";
  }
  std::string CreateText(const std::string& client, const std::string& text) {
    return Create(client, {.desc = Bytes(text.size()), .fill = Filler(text)});
  }
  std::string CreateHashed(const std::string& client, const std::string& text) {
    return Create(client,
                  {.desc = Bytes(text.size()), .digest = DigestOf(text), .fill = Filler(text)});
  }
  std::shared_ptr<const std::byte> Snapshot(const std::string& client, const std::string& handle) {
    return (*store_.Find(client, handle))->Snapshot().data;
  }
  std::string Text(const std::string& client, const std::string& handle) {
    const auto tensor = *store_.Find(client, handle);
    return {reinterpret_cast<const char*>(tensor->Snapshot().data.get()), tensor->bytes()};
  }
  absl::Status Write(const std::string& handle, uint64_t offset, const std::string& text) {
    return store_.Write("a", handle, offset, text.size(), Filler(text));
  }
  size_t Delete(const std::string& client, absl::string_view handle) {
    return store_.Delete(client, {&handle, 1});
  }
  bool Has(const std::string& client, const std::string& handle) {
    return store_.Find(client, handle).ok();
  }

  SimulatedClock clock_;
  HostBufferPool buffers_{1 << 20};
  TensorStore store_{kLimits, clock_, buffers_};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_RESIDENT_STORE_FIXTURE_H_
