// File: kernels/cpu/result_table.h
//
// All results of a function of one FLOAT16 number: there are 65,536 of them, which take 128 KiB and
// a fraction of a millisecond. To look them up is faster than to compute most functions whose
// results are rounded once, and the bits are the same, as it was the kernel that computed them.

#ifndef OPSERVE_KERNELS_CPU_RESULT_TABLE_H_
#define OPSERVE_KERNELS_CPU_RESULT_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/invocation.h"
#include "proto/base/mutex.h"

namespace opserve::cpu {

// Computes `count` elements of a function of FLOAT16 numbers with FLOAT16 results, at any
// alignment.
using HalfFunction =
    absl::FunctionRef<void(const std::byte* input, std::byte* output, size_t count)>;

// Immutable, and so thread-safe.
class ResultTable {
 public:
  explicit ResultTable(HalfFunction function);

  // The results of `count` numbers, at any alignment; the output overlaps no input but for the same
  // place.
  void Run(const std::byte* input, std::byte* output, size_t count) const;

  // Whether results are faster looked up than computed by `function` here and now: a few thousand
  // numbers of usual magnitudes tell.
  bool IsFasterThan(HalfFunction function) const;

 private:
  std::array<uint16_t, 1 << 16> results_;
};

// The tables of the functions that are called most. Thread-safe.
class ResultTables {
 public:
  // Fewest elements of a call that one is looked for.
  static constexpr uint64_t kLeastElements = 16 << 10;
  // How many elements of a function are computed before its table is made: enough that one made in
  // vain, as for somebody who never gives the same attributes twice, does not count.
  static constexpr uint64_t kElementsBeforeTable = 1 << 20;
  // Functions that are remembered: what is least recently used goes first.
  static constexpr size_t kMostFunctions = 32;

  // Whether there could be a table for the call.
  static bool Serve(const Invocation& call);

  // The table for a call of so many elements that they serve, which `function` computes, if there
  // is one that is faster. May take the time to make it.
  std::shared_ptr<const ResultTable> Find(const Invocation& call, uint64_t elements,
                                          HalfFunction function);

 private:
  // What the results depend on.
  struct Function {
    OpId op = {};
    AttributeValues attributes = {};
    std::optional<ScaleBias> scale_bias = {};
    std::optional<FusedActivation> fused_activation = {};
    bool operator==(const Function&) const = default;
  };
  struct Entry {
    Function function;
    uint64_t elements = 0;
    uint64_t last_use = 0;
    // Whether the table was made, or is being made; it is kept where it is faster.
    bool is_made = false;
    std::shared_ptr<const ResultTable> table = nullptr;
  };

  // The entry of the function; a new one in the place of the least recently used where there is
  // none.
  Entry& EntryOf(const Function& function) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_RESULT_TABLE_H_
