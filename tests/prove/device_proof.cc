#include "tests/prove/device_proof.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/cpu_executor.h"
#include "proto/base/mutex.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/open_elements.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

// Of one call: several parts for a device that divides large batches.
constexpr uint32_t kElementsPerCall = 1 << 23;
// Of the calls in which open elements are sought, by a text that takes a microsecond per element.
constexpr uint32_t kElementsPerStretch = 1 << 14;
// What is compared at once before single elements are.
constexpr uint32_t kElementsPerComparison = 1 << 10;
// As many as keep a device and its link busy; each has three tensors of kElementsPerCall.
constexpr unsigned kMostThreads = 16;

// Elements of a call, whose tensors are packed.
struct CallElements {
  uint32_t count = 0;
  std::byte* input = nullptr;
  std::byte* actual = nullptr;
};

template <class Bits>
void FillWithSteps(uint64_t first, uint64_t step, const CallElements& elements) {
  for (uint32_t i = 0; i < elements.count; ++i) {
    const auto bits = static_cast<Bits>(first + i * step);
    std::memcpy(elements.input + i * sizeof(bits), &bits, sizeof(bits));
  }
}

// Makes one proof, once.
class DeviceProver {
 public:
  DeviceProver(ComputeDevice& device, const Cell& cell, int setting, uint64_t stride)
      : device_(device),
        cell_(cell),
        setting_(setting),
        stride_(stride),
        input_size_(SizeOf(cell.op->InputType(0, cell.lane))),
        output_size_(SizeOf(cell.output)),
        count_((uint64_t{1} << (8 * input_size_)) / stride) {}

  DeviceProof Run() {
    const uint64_t calls = (count_ + kElementsPerCall - 1) / kElementsPerCall;
    const unsigned most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::min<uint64_t>(most, calls); ++i) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) thread.join();
    const MutexLock lock(mutex_);
    return std::move(proof_);
  }

 private:
  void Work() {
    const size_t most = std::min<uint64_t>(kElementsPerCall, count_);
    std::vector<std::byte> input(most * input_size_);
    std::vector<std::byte> actual(most * output_size_);
    std::vector<std::byte> expected(most * output_size_);
    for (uint64_t first; !has_failed_ && (first = next_.fetch_add(kElementsPerCall)) < count_;) {
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(most, count_ - first));
      const CallElements elements = {count, input.data(), actual.data()};
      Fill(first, elements);
      const absl::Status status = Prove(elements, expected.data());
      if (!status.ok()) return Fail(status);
    }
  }

  void Fill(uint64_t first, const CallElements& elements) const {
    if (input_size_ == sizeof(uint32_t)) {
      FillWithSteps<uint32_t>(first * stride_, stride_, elements);
    } else {
      FillWithSteps<uint16_t>(first * stride_, stride_, elements);
    }
  }

  // Runs `elements` on device and processor, and compares.
  absl::Status Prove(const CallElements& elements, std::byte* expected) {
    const auto call = MakeCall(cell_, setting_, Packed(elements.count));
    const std::byte* const input = elements.input;
    absl::Status status = RunOne(device_, *call, {&input, 1}, elements.actual);
    if (absl::IsOutOfRange(status)) status = RunStretches(elements);
    if (!status.ok()) return status;
    executor_.Run(*call, {&input, 1}, expected);
    Compare(*call, elements, expected);
    return absl::OkStatus();
  }

  // Runs a call of which the device left elements open, which become others.
  absl::Status RunStretches(const CallElements& elements) {
    for (uint32_t begin = 0; begin < elements.count; begin += kElementsPerStretch) {
      const CallElements stretch = {std::min(kElementsPerStretch, elements.count - begin),
                                    elements.input + begin * input_size_,
                                    elements.actual + begin * output_size_};
      const auto call = MakeCall(cell_, setting_, Packed(stretch.count));
      const std::byte* const input = stretch.input;
      absl::Status status = RunOne(device_, *call, {&input, 1}, stretch.actual);
      if (absl::IsOutOfRange(status)) {
        Close(*call, stretch);
        status = RunOne(device_, *call, {&input, 1}, stretch.actual);
      }
      if (absl::IsOutOfRange(status)) status = OpenAlone(stretch);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The device leaves something of `elements` open that the text does not. Says what, by halves.
  absl::Status OpenAlone(CallElements elements) {
    while (elements.count > 1) {
      const CallElements half = {elements.count / 2, elements.input, elements.actual};
      const auto call = MakeCall(cell_, setting_, Packed(half.count));
      const std::byte* const input = half.input;
      const bool is_here = absl::IsOutOfRange(RunOne(device_, *call, {&input, 1}, half.actual));
      elements = is_here ? half
                         : CallElements{elements.count - half.count,
                                        elements.input + half.count * input_size_,
                                        elements.actual + half.count * output_size_};
    }
    return absl::OutOfRangeError(absl::StrCat("The device leaves 0x",
                                              absl::Hex(ReadBits(elements.input, input_size_)),
                                              " open, and the text of its kernel does not."));
  }

  // Has other elements in the place of open ones.
  void Close(const Invocation& call, const CallElements& elements) {
    std::vector<GuardedInput> closed;
    closed.emplace_back(call.input_bytes[0]);
    std::memcpy(closed[0].data(), elements.input, closed[0].size());
    CloseOpenElements(call, closed);
    uint64_t open = 0;
    for (size_t at = 0; at < closed[0].size(); at += input_size_) {
      open += std::memcmp(elements.input + at, closed[0].data() + at, input_size_) == 0 ? 0 : 1;
    }
    std::memcpy(elements.input, closed[0].data(), closed[0].size());
    const MutexLock lock(mutex_);
    proof_.open += open;
  }

  void Compare(const Invocation& call, const CallElements& elements, const std::byte* expected) {
    DeviceProof found;
    found.inputs = elements.count;
    for (uint32_t begin = 0; begin < elements.count; begin += kElementsPerComparison) {
      const uint32_t end = begin + std::min(kElementsPerComparison, elements.count - begin);
      const size_t at = begin * output_size_;
      const size_t bytes = (end - begin) * output_size_;
      if (std::memcmp(elements.actual + at, expected + at, bytes) == 0) continue;
      for (uint32_t i = begin; i < end; ++i) {
        const uint64_t want = ReadBits(expected + i * output_size_, output_size_);
        const uint64_t have = ReadBits(elements.actual + i * output_size_, output_size_);
        if (IsRight(call, want, have)) continue;
        ++found.wrong;
        Keep({ReadBits(elements.input + i * input_size_, input_size_), have, want}, found);
      }
    }
    const MutexLock lock(mutex_);
    proof_.inputs += found.inputs;
    proof_.wrong += found.wrong;
    for (const WrongElement& element : found.first_wrong) Keep(element, proof_);
  }

  static void Keep(const WrongElement& element, DeviceProof& proof) {
    if (proof.first_wrong.size() < kWrongElementsKept) proof.first_wrong.push_back(element);
  }

  // Ends the proof; the first reason stays.
  void Fail(const absl::Status& status) {
    has_failed_ = true;
    const MutexLock lock(mutex_);
    proof_.status.Update(status);
  }

  ComputeDevice& device_;
  const CpuExecutor executor_{1};
  const Cell cell_;
  const int setting_;
  const uint64_t stride_;
  const size_t input_size_;
  const size_t output_size_;
  const uint64_t count_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
  Mutex mutex_;
  DeviceProof proof_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

DeviceProof ProveOnDevice(ComputeDevice& device, const Cell& cell, int setting, uint64_t stride) {
  return DeviceProver(device, cell, setting, stride).Run();
}

}  // namespace opserve::testing
