#include "kernels/cpu/cpu_executor.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "kernels/cpu/bound_kernel.h"
#include "kernels/cpu/cache_size.h"
#include "kernels/cpu/chain.h"
#include "kernels/cpu/piece_walk.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/tile_walk.h"
#include "tbb/blocked_range.h"
#include "tbb/info.h"
#include "tbb/parallel_for.h"
#include "tbb/task_arena.h"
#include "tbb/task_scheduler_observer.h"

namespace opserve {
namespace {

// Below this many bytes read and written, waking a thread costs more than it saves.
constexpr uint64_t kMinBytesToSplit = uint64_t{4} << 20;

// Work of one task, in bytes read and written: long enough to hide what a task costs.
constexpr uint64_t kBytesPerTask = uint64_t{256} << 10;

// Tasks start at multiples of this many elements, so that two never share a cache line.
constexpr uint64_t kElementsPerUnit = 4096;

// Memory that all threads together may take for rows that are not packed. Longer ones are computed
// one after the other.
constexpr uint64_t kMaxRowScratch = uint64_t{64} << 20;

// Bytes read and written from which on results would not stay in the last-level cache anyway.
uint64_t StreamingThreshold() {
  constexpr uint64_t kLeast = uint64_t{8} << 20;
  constexpr uint64_t kMost = uint64_t{64} << 20;
  return std::clamp(LastLevelCacheBytes(), kLeast, kMost);
}

// Bytes per element of the inputs, then of the output.
std::array<size_t, kMaxTensors> ElementSizes(const Invocation& call) {
  std::array<size_t, kMaxTensors> sizes = {};
  const int output = call.plan.tensor_count - 1;
  for (int t = 0; t < output; ++t) sizes[t] = SizeOf(call.inputs[t].data_type);
  sizes[output] = SizeOf(call.output.data_type);
  return sizes;
}

// Bytes that a call reads and writes.
uint64_t TotalBytes(const Invocation& call, const std::array<size_t, kMaxTensors>& element_sizes) {
  return call.plan.element_count *
         std::accumulate(element_sizes.begin(), element_sizes.end(), uint64_t{0});
}

// What a group of several steps reads and writes.
struct GroupBytes {
  // The bytes that all steps move.
  uint64_t moved = 0;
  // Of these, what is not in blocks. A tensor counts once for each step that uses it.
  uint64_t in_memory = 0;
};

GroupBytes BytesOf(const SequenceInvocation& sequence, const StepGroup& group) {
  GroupBytes bytes;
  const auto add = [&](uint64_t tensor, bool is_in_block) {
    bytes.moved += tensor;
    if (!is_in_block) bytes.in_memory += tensor;
  };
  const auto is_in_block = [&](uint32_t step) {
    return sequence.plan.results[step].kind == ResultPlace::Kind::kSlot;
  };
  for (uint32_t s = group.begin; s < group.end; ++s) {
    const Invocation& call = sequence.call(s);
    add(call.output_bytes, is_in_block(s));
    for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
      const TensorSource& source = sequence.steps[s].sources[i];
      add(call.input_bytes[i],
          source.kind == TensorSource::Kind::kStep && is_in_block(source.index));
    }
  }
  return bytes;
}

// Names TBB's own threads while they work in an arena, for `ps -T`, gdb and perf: they would have
// the name of whichever thread had them started.
class PoolNames final : public tbb::task_scheduler_observer {
 public:
  explicit PoolNames(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) {
    observe(true);
  }
  ~PoolNames() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) pthread_setname_np(pthread_self(), "cpu-pool");
  }
};

}  // namespace

struct CpuExecutor::Impl {
  explicit Impl(int thread_count) : threads(thread_count), arena(thread_count) {}

  // Calls run(begin, end) for parts of 0 to `count` that together are all of it, at once where
  // `total_bytes` is worth it.
  template <class Function>
  void ForParts(uint64_t count, uint64_t total_bytes, const Function& run) {
    if (threads == 1 || count == 1 || total_bytes < kMinBytesToSplit)
      return run(uint64_t{0}, count);
    const uint64_t grain = std::max<uint64_t>(1, count * kBytesPerTask / total_bytes);
    arena.execute([&] {
      tbb::parallel_for(tbb::blocked_range<uint64_t>(0, count, grain),
                        [&](const auto& range) { run(range.begin(), range.end()); });
    });
  }

  // `count`: how many elements of the call to compute, those at the pointers.
  void RunPacked(const Invocation& call, const cpu::BoundKernel& kernel,
                 const std::array<size_t, kMaxTensors>& element_sizes, uint64_t count,
                 std::span<const std::byte* const> inputs, std::byte* output);
  void RunTiles(const Invocation& call, const cpu::BoundKernel& kernel,
                const std::array<size_t, kMaxTensors>& element_sizes,
                std::span<const std::byte* const> inputs, std::byte* output);
  void RunRows(const Invocation& call, const std::byte* input, std::byte* output);

  // Sets an output with gaps to zero.
  void ClearGaps(const Invocation& call, std::byte* output) {
    if (!call.plan.output_has_gaps) return;
    ForParts(call.output_bytes, call.output_bytes,
             [&](uint64_t begin, uint64_t end) { std::memset(output + begin, 0, end - begin); });
  }

  void RunGroup(const SequenceInvocation& sequence, const StepGroup& group,
                const cpu::SequenceMemory& memory, const std::atomic<bool>& stop);

  // Calls run(begin, end) for the elements of a packed call, part by part.
  template <class Function>
  void ForElements(uint64_t count, uint64_t total_bytes, const Function& run) {
    const uint64_t units = (count + kElementsPerUnit - 1) / kElementsPerUnit;
    ForParts(units, total_bytes, [&](uint64_t begin, uint64_t end) {
      run(begin * kElementsPerUnit, std::min(count, end * kElementsPerUnit));
    });
  }

  // The same from the last element to the first, for tensors that have just come over the network
  // and are sent next: their end is still in the cache, and their beginning will be.
  template <class Function>
  void ForElementsBackwards(uint64_t count, uint64_t total_bytes, const Function& run) {
    constexpr uint64_t kStep = 16 * kElementsPerUnit;
    const uint64_t steps = (count + kStep - 1) / kStep;
    ForParts(steps, total_bytes, [&](uint64_t begin, uint64_t end) {
      for (uint64_t step = steps - begin; step > steps - end; --step) {
        run((step - 1) * kStep, std::min(count, step * kStep));
      }
    });
  }

  cpu::StoreMode StoreModeFor(uint64_t bytes) const {
    return bytes < streaming_threshold ? cpu::StoreMode::kCached : cpu::StoreMode::kStreaming;
  }

  const int threads;
  const uint64_t streaming_threshold = StreamingThreshold();
  tbb::task_arena arena;
  PoolNames names{arena};
  cpu::ResultTables tables;
};

void CpuExecutor::Impl::RunPacked(const Invocation& call, const cpu::BoundKernel& kernel,
                                  const std::array<size_t, kMaxTensors>& element_sizes,
                                  uint64_t count, std::span<const std::byte* const> inputs,
                                  std::byte* output) {
  const int output_index = call.plan.tensor_count - 1;
  const uint64_t all_bytes = TotalBytes(call, element_sizes);
  // Whether results stay in the cache is a matter of the whole call.
  const cpu::StoreMode store_mode = StoreModeFor(all_bytes);

  ForElements(count, all_bytes / call.plan.element_count * count,
              [&](uint64_t first, uint64_t last) {
                std::array<const std::byte*, kMaxInputs> part = {};
                for (int t = 0; t < output_index; ++t) {
                  part[t] = inputs[t] + first * element_sizes[t];
                }
                kernel.Run(part.data(), output + first * element_sizes[output_index], last - first,
                           store_mode);
              });
}

void CpuExecutor::Impl::RunTiles(const Invocation& call, const cpu::BoundKernel& kernel,
                                 const std::array<size_t, kMaxTensors>& element_sizes,
                                 std::span<const std::byte* const> inputs, std::byte* output) {
  ClearGaps(call, output);
  const uint64_t bytes = TotalBytes(call, element_sizes);
  const cpu::TileWalk walk(call.plan, {element_sizes.data(), size_t(call.plan.tensor_count)});
  ForParts(walk.tile_count(), bytes,
           [&](uint64_t begin, uint64_t end) { walk.Run(kernel, inputs, output, begin, end); });
}

void CpuExecutor::Impl::RunRows(const Invocation& call, const std::byte* input, std::byte* output) {
  ClearGaps(call, output);
  const cpu::RowWalk walk(call.plan, cpu::GetRowKernel(call.op, call.lane_type),
                          SizeOf(call.lane_type));
  const uint64_t row_count = walk.row_count();
  if (walk.scratch_bytes() * static_cast<uint64_t>(threads) > kMaxRowScratch) {
    return walk.Run(input, output, 0, row_count);
  }
  ForParts(row_count, TotalBytes(call, ElementSizes(call)),
           [&](uint64_t begin, uint64_t end) { walk.Run(input, output, begin, end); });
}

void CpuExecutor::Impl::RunGroup(const SequenceInvocation& sequence, const StepGroup& group,
                                 const cpu::SequenceMemory& memory, const std::atomic<bool>& stop) {
  const GroupBytes bytes = BytesOf(sequence, group);
  const cpu::Chain chain(sequence, group, memory, StoreModeFor(bytes.in_memory), tables);
  ForElements(group.element_count, bytes.moved,
              [&](uint64_t begin, uint64_t end) { chain.Run(begin, end, stop); });
}

CpuExecutor::CpuExecutor(int threads)
    : impl_(std::make_unique<Impl>(threads > 0 ? threads : tbb::info::default_concurrency())) {}

CpuExecutor::~CpuExecutor() = default;

void CpuExecutor::Run(const Invocation& invocation, std::span<const std::byte* const> inputs,
                      std::byte* output) const {
  if (invocation.plan.row_begin) return impl_->RunRows(invocation, inputs[0], output);
  const cpu::BoundKernel kernel(invocation, invocation.plan.element_count, impl_->tables);
  const std::array<size_t, kMaxTensors> sizes = ElementSizes(invocation);
  if (invocation.plan.is_packed()) {
    impl_->RunPacked(invocation, kernel, sizes, invocation.plan.element_count, inputs, output);
  } else {
    impl_->RunTiles(invocation, kernel, sizes, inputs, output);
  }
}

void CpuExecutor::RunPart(const Invocation& invocation, uint64_t elements,
                          std::span<const std::byte* const> inputs, std::byte* output) const {
  impl_->RunPacked(invocation, cpu::BoundKernel(invocation, elements, impl_->tables),
                   ElementSizes(invocation), elements, inputs, output);
}

void CpuExecutor::RunPieces(const Invocation& invocation, std::span<const TensorBytes> inputs,
                            std::byte* output) const {
  const std::array<size_t, kMaxTensors> sizes = ElementSizes(invocation);
  const uint64_t count = invocation.plan.element_count;
  const uint64_t bytes = TotalBytes(invocation, sizes);
  const cpu::PieceWalk walk(cpu::BoundKernel(invocation, count, impl_->tables),
                            impl_->StoreModeFor(bytes), inputs, sizes, count, output);
  impl_->ForElements(count, bytes, [&](uint64_t begin, uint64_t end) { walk.Run(begin, end); });
}

void CpuExecutor::RunInPlace(const Invocation& invocation, std::span<const TensorBytes> inputs,
                             size_t target) const {
  const std::array<size_t, kMaxTensors> sizes = ElementSizes(invocation);
  const uint64_t count = invocation.plan.element_count;
  const cpu::PieceWalk walk(cpu::BoundKernel(invocation, count, impl_->tables), inputs, sizes,
                            count, target);
  impl_->ForElementsBackwards(count, TotalBytes(invocation, sizes),
                              [&](uint64_t begin, uint64_t end) { walk.Run(begin, end); });
}

bool CpuExecutor::RunSequence(const SequenceInvocation& sequence,
                              std::span<const std::byte* const> inputs,
                              std::span<std::byte* const> outputs, std::byte* workspace,
                              const std::atomic<bool>* stop) const {
  static constexpr std::atomic<bool> kNeverStops = false;
  const std::atomic<bool>& is_stopped = stop != nullptr ? *stop : kNeverStops;
  const cpu::SequenceMemory memory = {inputs, outputs, workspace};
  for (const StepGroup& group : sequence.plan.groups) {
    if (is_stopped) return false;
    if (group.size() > 1) {
      impl_->RunGroup(sequence, group, memory, is_stopped);
      continue;
    }
    const Invocation& call = sequence.call(group.begin);
    std::array<const std::byte*, kMaxInputs> step_inputs = {};
    const int input_count = call.plan.tensor_count - 1;
    for (int i = 0; i < input_count; ++i) {
      step_inputs[i] = memory.InputOf(sequence, group.begin, i);
    }
    Run(call, std::span(step_inputs).first(input_count), memory.ResultOf(sequence, group.begin));
  }
  return !is_stopped;
}

int CpuExecutor::threads() const { return impl_->threads; }

}  // namespace opserve
