// File: kernels/cpu/cpu_executor.h
//
// Runs validated calls on the CPU: SIMD kernels chosen at run time for the host's best instruction
// set, any layout, large tensors split over threads; and sequences of them.

#ifndef OPSERVE_KERNELS_CPU_CPU_EXECUTOR_H_
#define OPSERVE_KERNELS_CPU_CPU_EXECUTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/invocation.h"
#include "kernels/sequence.h"
#include "kernels/tensor_bytes.h"

namespace opserve {

// Thread-safe: Run may be called from many threads at once; they share the worker threads.
class CpuExecutor {
 public:
  // `threads`: most threads one call is spread over, the caller's included; 0 takes one per
  // processor available to this process.
  explicit CpuExecutor(int threads = 0);
  ~CpuExecutor();
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;

  // Computes the call. `inputs` holds one pointer per input of the operator, in its order (nullptr
  // where an optional input is absent), each to invocation.input_bytes[i] readable bytes at any
  // alignment; `output` points to invocation.output_bytes writable bytes that overlap no input.
  // Writes every byte of the output; gaps between strided elements become zero. Cannot fail but for
  // want of memory for tables of results.
  void Run(const Invocation& invocation, std::span<const std::byte* const> inputs,
           std::byte* output) const;

  // The same for any `elements` elements of a packed call (invocation.plan.is_packed()) that follow
  // one another, at which `inputs` and `output` point.
  void RunPart(const Invocation& invocation, uint64_t elements,
               std::span<const std::byte* const> inputs, std::byte* output) const;

  // The same for a packed call whose inputs may lie in pieces.
  void RunPieces(const Invocation& invocation, std::span<const TensorBytes> inputs,
                 std::byte* output) const;

  // The same with the result in the place of input `target`, where CanRunInPlace. The bytes of that
  // input must be writable, although they are given as an input, and overlap no other.
  void RunInPlace(const Invocation& invocation, std::span<const TensorBytes> inputs,
                  size_t target) const;

  // Computes the sequence; every output is, to the bit, what its steps give one by one. `inputs`
  // and `outputs` hold one pointer per input and per output of the sequence, the outputs as above,
  // overlapping neither inputs nor each other. `workspace` points to plan.workspace_bytes
  // bytes, best at a multiple of kWorkspaceAlignment, that may hold anything and hold nothing of
  // use afterwards. Cannot fail but for want of memory for lists of steps.
  //
  // Ends early once `stop`, if there is one, is set, at the next block of a few KiB or before the
  // next step, and then returns false, and the outputs hold nothing of use.
  bool RunSequence(const SequenceInvocation& sequence, std::span<const std::byte* const> inputs,
                   std::span<std::byte* const> outputs, std::byte* workspace,
                   const std::atomic<bool>* stop = nullptr) const;

  // Number of threads that a call is spread over at most.
  int threads() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Name of the instruction set that kernels use on this host, as Highway names it: "AVX3_DL".
std::string CpuTargetName();

}  // namespace opserve

#endif  // OPSERVE_KERNELS_CPU_CPU_EXECUTOR_H_
