#include "tests/bench/wire/large_load.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "opserve/client.h"
#include "opserve/stream.h"

namespace opserve::wire_bench {
namespace {

// A stretch of addresses whose every block is the same memory.
class RepeatedBlock {
 public:
  RepeatedBlock() = default;
  ~RepeatedBlock() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
    if (file_ >= 0) close(file_);
  }
  RepeatedBlock(const RepeatedBlock&) = delete;
  RepeatedBlock& operator=(const RepeatedBlock&) = delete;

  // `bytes`: a multiple of the block's. To be called once.
  absl::Status Map(std::span<const uint8_t> block, uint64_t bytes) {
    bytes_ = bytes;
    file_ = memfd_create("block", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(block.size())) != 0) return Error();
    data_ = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) return Error();
    for (uint64_t at = 0; at < bytes; at += block.size()) {
      if (mmap(begin() + at, block.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
               0) == MAP_FAILED) {
        return Error();
      }
    }
    std::memcpy(begin(), block.data(), block.size());
    return absl::OkStatus();
  }

  std::span<const std::byte> bytes() const { return {begin(), bytes_}; }

 private:
  static absl::Status Error() { return absl::ErrnoToStatus(errno, "memory of a large tensor"); }
  std::byte* begin() const { return static_cast<std::byte*>(data_); }

  int file_ = -1;
  void* data_ = MAP_FAILED;
  uint64_t bytes_ = 0;
};

absl::Status Check(const Tensor& output, const Payload& block, uint64_t bytes) {
  if (output.bytes().size() != bytes) return absl::InternalError("a large result is wrong");
  for (uint64_t at = 0; at < bytes; at += block.size()) {
    if (std::memcmp(output.bytes().data() + at, block.expected().data(), block.size()) != 0) {
      return absl::InternalError(absl::StrCat("a large result is wrong from byte ", at, " on"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLargeLoad(const std::string& target, const Payload& block, uint64_t bytes,
                          Meter& meter) {
  if (bytes == 0 || bytes % block.size() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a large tensor has a multiple of ", block.size(), " bytes, not ", bytes));
  }
  RepeatedBlock input;
  if (absl::Status status = input.Map(block.bytes(), bytes); !status.ok()) return status;
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(target);
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::unique_ptr<ExecuteStream>> stream = (*client)->OpenStream();
  if (!stream.ok()) return stream.status();
  const auto rows = static_cast<uint32_t>(bytes / block.size());
  const auto columns = static_cast<uint32_t>(block.size() / sizeof(float));
  const OperatorCall call = {
      .operator_name = "ELEMENT_WISE_ROUND",
      .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
      .inputs = {TensorView({DataType::kFloat32, {rows, columns}}, input.bytes())}};
  for (bool more = true; more;) {
    const SteadyClock::time_point began = SteadyClock::now();
    const absl::StatusOr<Tensor> output = (*stream)->Start(call, absl::Minutes(5)).Wait();
    more = meter.Done(began, SteadyClock::now());
    if (!output.ok()) return output.status();
    if (absl::Status status = Check(*output, block, bytes); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace opserve::wire_bench
