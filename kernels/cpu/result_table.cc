#include "kernels/cpu/result_table.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

namespace opserve::cpu {
namespace {

constexpr size_t kVectorElements = 8;
using Results [[gnu::vector_size(kVectorElements * sizeof(uint16_t))]] = uint16_t;

// The least time of a few runs: whatever else runs on the processor only adds to it.
std::chrono::nanoseconds LeastTime(absl::FunctionRef<void()> run) {
  auto least = std::chrono::nanoseconds::max();
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - start);
  }
  return least;
}

}  // namespace

ResultTable::ResultTable(HalfFunction function) {
  std::array<uint16_t, 4096> numbers;
  for (size_t first = 0; first < results_.size(); first += numbers.size()) {
    std::iota(numbers.begin(), numbers.end(), static_cast<uint16_t>(first));
    function(reinterpret_cast<const std::byte*>(numbers.data()),
             reinterpret_cast<std::byte*>(&results_[first]), numbers.size());
  }
}

void ResultTable::Run(const std::byte* input, std::byte* output, size_t count) const {
  const size_t whole_end = count - count % kVectorElements;
  for (size_t i = 0; i < whole_end; i += kVectorElements) {
    // A processor loads and stores few things at a time: numbers come four at once, and results
    // that are put together in a vector go as one.
    std::array<uint64_t, 2> numbers;
    std::memcpy(numbers.data(), input + i * sizeof(uint16_t), sizeof(numbers));
    Results results = {};
    results[0] = results_[numbers[0] & 0xffff];
    results[1] = results_[numbers[0] >> 16 & 0xffff];
    results[2] = results_[numbers[0] >> 32 & 0xffff];
    results[3] = results_[numbers[0] >> 48];
    results[4] = results_[numbers[1] & 0xffff];
    results[5] = results_[numbers[1] >> 16 & 0xffff];
    results[6] = results_[numbers[1] >> 32 & 0xffff];
    results[7] = results_[numbers[1] >> 48];
    std::memcpy(output + i * sizeof(uint16_t), &results, sizeof(results));
  }
  for (size_t i = whole_end; i < count; ++i) {
    uint16_t number;
    std::memcpy(&number, input + i * sizeof(number), sizeof(number));
    std::memcpy(output + i * sizeof(number), &results_[number], sizeof(number));
  }
}

bool ResultTable::IsFasterThan(HalfFunction function) const {
  // Of both signs, from 2^-8 to 2^4, in no order.
  constexpr uint32_t kFirst = (15 - 8) << 10;
  constexpr uint32_t kEnd = (15 + 4) << 10;
  std::array<uint16_t, 4096> numbers;
  std::array<uint16_t, numbers.size()> results;
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    const uint32_t mixed = i * 0x9E3779B1 >> 8;
    numbers[i] = static_cast<uint16_t>(mixed % (kEnd - kFirst) + kFirst + (i % 2 << 15));
  }
  const auto* const from = reinterpret_cast<const std::byte*>(numbers.data());
  auto* const to = reinterpret_cast<std::byte*>(results.data());
  const auto computed = LeastTime([&] { function(from, to, numbers.size()); });
  return LeastTime([&] { Run(from, to, numbers.size()); }) < computed;
}

bool ResultTables::Serve(const Invocation& call) {
  const OpShape& shape = TraitsOf(call.op).shape;
  return shape.input_count() == 1 && shape.is_lane(0) && !shape.only_moves && !shape.is_row &&
         call.lane_type == DataType::kFloat16 && call.output.data_type == DataType::kFloat16;
}

std::shared_ptr<const ResultTable> ResultTables::Find(const Invocation& call, uint64_t elements,
                                                      HalfFunction function) {
  const Function key = {call.op, call.attributes, call.scale_bias, call.fused_activation};
  {
    const MutexLock lock(mutex_);
    Entry& entry = EntryOf(key);
    entry.last_use = ++uses_;
    if (entry.is_made) return entry.table;
    entry.elements += elements;
    if (entry.elements < kElementsBeforeTable) return nullptr;
    // Others compute meanwhile.
    entry.is_made = true;
  }
  auto table = std::make_shared<const ResultTable>(function);
  if (!table->IsFasterThan(function)) return nullptr;
  const MutexLock lock(mutex_);
  Entry& entry = EntryOf(key);
  entry.is_made = true;
  entry.table = table;
  return table;
}

ResultTables::Entry& ResultTables::EntryOf(const Function& function) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.function == function; });
  if (found != entries_.end()) return *found;
  if (entries_.size() < kMostFunctions) return entries_.emplace_back(Entry{function});
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; });
  *oldest = Entry{function};
  return *oldest;
}

}  // namespace opserve::cpu
