// File: kernels/cpu/bound_kernel.h
//
// A kernel with the attributes of a call: what computes packed runs of its elements.

#ifndef OPSERVE_KERNELS_CPU_BOUND_KERNEL_H_
#define OPSERVE_KERNELS_CPU_BOUND_KERNEL_H_

#include <cstddef>

#include "kernels/cpu/kernel_table.h"
#include "kernels/invocation.h"

namespace opserve::cpu {

// A small value. Thread-safe, like the kernels.
class BoundKernel {
 public:
  // No kernel; must not be run.
  BoundKernel() = default;
  // The kernel of `call` for the best instruction set of this host.
  explicit BoundKernel(const Invocation& call);

  // As FlatKernel.
  void Run(const std::byte* const* inputs, std::byte* output, size_t count,
           StoreMode store_mode) const {
    if (scale_bias_ == nullptr) return kernel_(inputs, output, count, store_mode, attributes_);
    RunScaled(inputs, output, count, store_mode);
  }

 private:
  // Block by block, so that what replaces the input stays in the caches.
  void RunScaled(const std::byte* const* inputs, std::byte* output, size_t count,
                 StoreMode store_mode) const;

  FlatKernel kernel_ = nullptr;
  AttributeValues attributes_ = {};
  // Where the call has a ScaleBias: what applies it, and the bytes of an element before and after
  // the operator.
  FlatKernel scale_bias_ = nullptr;
  AttributeValues scale_and_bias_ = {};
  size_t input_size_ = 0;
  size_t output_size_ = 0;
};

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_BOUND_KERNEL_H_
