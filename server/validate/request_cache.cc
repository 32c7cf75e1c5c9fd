#include "server/validate/request_cache.h"

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/hash/hash.h"

namespace opserve {
namespace {

// Appends parts of a key; none of them can be mistaken for a different sequence of parts.
class KeyWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void Add(T value) { key_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void Add(absl::string_view text) {
    Add(text.size());
    key_.append(text.data(), text.size());
  }
  template <class T>
  void Add(std::span<const T> values) {
    Add(absl::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }
  void Add(std::monostate) {}
  void Add(const TensorDescView& desc) {
    Add(desc.name);
    Add(desc.data_type);
    Add(desc.sizes);
    Add(desc.strides);
  }
  void Add(const AttributeView& attribute) {
    Add(attribute.name);
    Add(attribute.value.index());
    std::visit([this](const auto& value) { Add(value); }, attribute.value);
  }

  KeyWriter() { key_.reserve(256); }

  std::string Take() { return std::move(key_); }

 private:
  std::string key_;
};

}  // namespace

std::string CacheKey(const OperatorRequest& request) {
  KeyWriter writer;
  writer.Add(request.operator_name);
  writer.Add(request.feature_level);
  writer.Add(request.attributes.size());
  for (const AttributeView& attribute : request.attributes) writer.Add(attribute);
  writer.Add(request.inputs.size());
  for (const TensorDescView& input : request.inputs) writer.Add(input);
  writer.Add(request.output.has_value());
  if (request.output.has_value()) writer.Add(*request.output);
  writer.Add(std::span<const uint64_t>(request.payload_bytes));
  return writer.Take();
}

RequestCache::RequestCache(size_t capacity) : shard_capacity_((capacity + kShards - 1) / kShards) {}

RequestCache::Shard& RequestCache::ShardOf(absl::string_view key) {
  // Upper bits: the map inside a shard uses the lower ones of the same hash.
  return shards_[(absl::HashOf(key) >> 32) % kShards];
}

std::shared_ptr<const Invocation> RequestCache::Find(absl::string_view key) {
  Shard& shard = ShardOf(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.index.find(key);
  if (found == shard.index.end()) return nullptr;
  shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
  return found->second->invocation;
}

void RequestCache::Insert(std::string key, std::shared_ptr<const Invocation> invocation) {
  if (shard_capacity_ == 0) return;
  Shard& shard = ShardOf(key);
  MutexLock lock(shard.mutex);
  if (shard.index.contains(key)) return;
  if (shard.entries.size() >= shard_capacity_) {
    shard.index.erase(shard.entries.back().key);
    shard.entries.pop_back();
  }
  shard.entries.push_front({std::move(key), std::move(invocation)});
  shard.index.emplace(shard.entries.front().key, shard.entries.begin());
}

size_t RequestCache::size() const {
  size_t total = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    total += shard.entries.size();
  }
  return total;
}

}  // namespace opserve
