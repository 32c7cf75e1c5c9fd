// File: kernels/cpu/bound_kernel.h
//
// A kernel with the attributes of a call: what computes packed runs of its elements.

#ifndef OPSERVE_KERNELS_CPU_BOUND_KERNEL_H_
#define OPSERVE_KERNELS_CPU_BOUND_KERNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/result_table.h"
#include "kernels/invocation.h"

namespace opserve::cpu {

// A small value. Thread-safe, like the kernels.
class BoundKernel {
 public:
  // No kernel; must not be run.
  BoundKernel() = default;
  // The kernel of `call` for the best instruction set of this host.
  explicit BoundKernel(const Invocation& call);
  // The same where `elements` elements are to be computed: from a table where that is faster.
  BoundKernel(const Invocation& call, uint64_t elements, ResultTables& tables);

  // As FlatKernel.
  void Run(const std::byte* const* inputs, std::byte* output, size_t count,
           StoreMode store_mode) const {
    if (table_ != nullptr) return table_->Run(inputs[0], output, count);
    Compute(inputs, output, count, store_mode);
  }

 private:
  void Compute(const std::byte* const* inputs, std::byte* output, size_t count,
               StoreMode store_mode) const {
    if (!has_stages_) return kernel_(inputs, output, count, store_mode, attributes_);
    RunStages(inputs, output, count, store_mode);
  }
  // Block by block, so that what the stages hand on stays in the caches.
  void RunStages(const std::byte* const* inputs, std::byte* output, size_t count,
                 StoreMode store_mode) const;

  // What the kernel gets of input `input` for elements `at` and the `count` - 1 behind it: the
  // elements themselves, or what is made of them in `staged` by way of `scaled`.
  const std::byte* StagedInput(size_t input, const std::byte* elements, size_t at, size_t count,
                               std::byte* scaled, std::byte* staged) const;

  FlatKernel kernel_ = nullptr;
  AttributeValues attributes_ = {};
  // What an input goes through before the kernel; nullptr: nothing.
  struct Stages {
    size_t element_size = 0;  // 0 where it is absent
    FlatKernel scale_bias = nullptr;
    FlatKernel widening = nullptr;
  };

  bool has_stages_ = false;
  std::array<Stages, kMaxInputs> inputs_ = {};
  size_t input_count_ = 0;
  size_t output_size_ = 0;
  // The numbers of a ScaleBias.
  AttributeValues scale_and_bias_ = {};
  // Where it has a FusedActivation: what computes that of the kernel's results.
  FlatKernel activation_ = nullptr;
  AttributeValues activation_attributes_ = {};
  // nullptr: everything is computed.
  std::shared_ptr<const ResultTable> table_;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_BOUND_KERNEL_H_
