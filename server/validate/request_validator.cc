#include "server/validate/request_validator.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

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

// Bytes of the largest input or output.
uint64_t LargestTensor(const Invocation& call) {
  return std::max(call.output_bytes, std::ranges::max(call.input_bytes));
}

}  // namespace

std::vector<Violation> CheckEnvelope(const RequestEnvelope& header) {
  std::vector<Violation> violations;
  if (header.request_id.size() > kMaxRequestIdBytes) {
    violations.push_back(
        {"request_id", absl::StrCat("The id has ", header.request_id.size(), " bytes; at most ",
                                    kMaxRequestIdBytes, " are allowed.")});
  }
  if (!v1::DevicePreference_IsValid(header.device)) {
    violations.push_back({"device", absl::StrCat("There is no device preference ", header.device,
                                                 "; allowed are 0 to 3 (UNSPECIFIED, AUTO, GPU, "
                                                 "CPU).")});
  }
  if (!header.device_lease.empty() && header.device != v1::DEVICE_PREFERENCE_UNSPECIFIED &&
      header.device != v1::DEVICE_PREFERENCE_GPU) {
    violations.push_back({"device", absl::StrCat("A request with a lease of a device runs there; "
                                                 "device ",
                                                 header.device,
                                                 " is not allowed, only "
                                                 "0 and 2 (UNSPECIFIED, GPU).")});
  }
  if (!v1::Priority_IsValid(header.priority)) {
    violations.push_back({"priority", absl::StrCat("There is no priority ", header.priority,
                                                   "; allowed are 0 to 3 (UNSPECIFIED, LOW, "
                                                   "NORMAL, HIGH).")});
  }
  return violations;
}

absl::Status CheckDevice(const RequestEnvelope& envelope, const GpuPresenceSource& gpu_presence) {
  if (envelope.device != v1::DEVICE_PREFERENCE_GPU) return absl::OkStatus();
  switch (gpu_presence()) {
    case GpuPresence::kNone:
      return MakeError(ErrorReason::DEVICE_UNAVAILABLE, "This server has no GPU device.",
                       {{"device", "gpu"}});
    case GpuPresence::kStarting:
      return MakeRetryableError(ErrorReason::DEVICE_UNAVAILABLE,
                                "The GPUs of this server are still starting.",
                                std::chrono::seconds(1), {{"device", "gpu"}});
    case GpuPresence::kThere:
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckResponse(uint64_t result_bytes, uint64_t header_bytes,
                           uint64_t max_message_bytes) {
  // Neither sum nor difference overflows.
  if (header_bytes <= max_message_bytes && result_bytes <= max_message_bytes - header_bytes) {
    return absl::OkStatus();
  }
  return MakeError(
      ErrorReason::RESPONSE_TOO_LARGE,
      absl::StrCat("The result has ", result_bytes, " bytes, too many for a message of at most ",
                   max_message_bytes, "."),
      {{"limit", absl::StrCat(max_message_bytes)}});
}

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

RequestValidator::RequestValidator(const ValidationLimits& limits, uint64_t max_message_bytes,
                                   size_t cache_entries, GpuPresenceSource gpu_presence)
    : limits_(limits),
      max_message_bytes_(max_message_bytes),
      gpu_presence_(std::move(gpu_presence)),
      cache_(cache_entries) {}

absl::StatusOr<std::shared_ptr<const Invocation>> RequestValidator::Validate(
    const RequestHeader& header, std::vector<Violation> violations) {
  for (Violation& violation : CheckEnvelope(header)) violations.push_back(std::move(violation));
  ValidationLimits limits = limits_;
  if (!header.holds_tensors) limits.max_tensor_bytes = kHighestTensorLimit;
  std::string key = CacheKey(header.call);
  std::shared_ptr<const Invocation> invocation = cache_.Find(key);
  // It may be of a request whose tensors may be larger.
  if (invocation != nullptr && LargestTensor(*invocation) > limits.max_tensor_bytes) {
    invocation = nullptr;
  }
  absl::string_view unknown_operator;
  if (invocation == nullptr) {
    ValidationResult result = opserve::Validate(header.call, limits);
    if (result.unknown_operator) unknown_operator = header.call.operator_name;
    invocation = std::move(result.invocation);
    violations.insert(violations.end(), result.violations.begin(), result.violations.end());
    if (invocation != nullptr) cache_.Insert(std::move(key), invocation);
  }
  if (!violations.empty()) return MakeViolationError(violations, unknown_operator);
  absl::Status status = CheckDevice(header, gpu_presence_);
  if (status.ok() && header.answers_in_one_message) {
    status = CheckResponse(invocation->output_bytes, kMaxResponseHeaderBytes, max_message_bytes_);
  }
  if (!status.ok()) return status;
  return invocation;
}

}  // namespace opserve
