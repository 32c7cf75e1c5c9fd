// File: kernels/hlsl/render.h
//
// Writes the HLSL text of GPU kernels from the operator table, for shader model 5.1. Used by the
// tool that builds the blobs and by tests; the server needs only kernels/hlsl/blobs.h.
//
// A kernel binds:
//   b0         block count, thread count, loop count, the mark of open submissions, the attributes
//              of the call, as in AttributeValues, and the types of numbers, as in NumberTypesOf
//              (kernels/hlsl/kernel_key.h) (root constants); of rows RowConstants in place of the
//              attributes
//   t0, t1, .. the inputs, raw (root SRVs); which one is where InputRegister tells
//   t3         the plan, raw; strided kernels only (root SRV)
//   u0         the output, raw (root UAV); of rows with records behind it
//   u1         a word that gets the mark where an element is left open, raw; only kernels that
//              LeavesOpen (kernels/hlsl/expressions.h) tells of (root UAV)
//
// Thread i takes block i, then block i + thread count, and so on; of packed kernels that memory
// bounds, BlocksPerStep (kernels/hlsl/kernel_key.h) of these at a time, and what is left one by
// one. Any thread count is right. Where an input has less than a word in a block, a group takes
// blocks that lie side by side, as many as its threads would have; there the thread count is that
// of whole groups.

#ifndef OPSERVE_KERNELS_HLSL_RENDER_H_
#define OPSERVE_KERNELS_HLSL_RENDER_H_

#include <string>
#include <vector>

#include "kernels/hlsl/kernel_key.h"

namespace opserve::hlsl {

// All kernels of the operator table whose row has an HLSL body, in the order of the table.
std::vector<KernelKey> AllKernelKeys();

// The text of the *.hlsli files. Kernels have what their row's HLSL column calls, and the files
// that it builds upon, which are before it.
struct Bodies {
  std::string common;               // part of every kernel
  std::string arithmetic;           // numbers of 64 bits, and what needs no more
  std::string typed_numbers;        // numbers of types that the call tells
  std::string quantization;         // quantisation
  std::string elementary;           // elementary functions
  std::string normal_distribution;  // that function, with a table that others do without
  std::string open;                 // what may leave elements open
  std::string power;                // powers, which may as well
  std::string softmax;              // sums of powers, and what becomes of them
  std::string rows;                 // the stages of kernels of rows

  bool empty() const {
    return common.empty() || arithmetic.empty() || typed_numbers.empty() || quantization.empty() ||
           elementary.empty() || normal_distribution.empty() || open.empty() || power.empty() ||
           softmax.empty() || rows.empty();
  }
};

// The complete source of a kernel, which must be one of AllKernelKeys(). Kernels that do the same
// have the same text: moves, for example, depend on the size of an element only.
std::string RenderKernel(const KernelKey& key, const Bodies& bodies);

// The bodies in `folder`, which is kernels/hlsl of the sources; empty where they cannot be read.
Bodies ReadBodies(const std::string& folder);

}  // namespace opserve::hlsl

#endif  // OPSERVE_KERNELS_HLSL_RENDER_H_
