// File: server/compute_device.h
//
// What runs operators: the seam between the server and its devices.

#ifndef OPSERVE_SERVER_COMPUTE_DEVICE_H_
#define OPSERVE_SERVER_COMPUTE_DEVICE_H_

#include <cstddef>
#include <span>
#include <string>

#include "kernels/invocation.h"

namespace opserve {

// Thread-safe: Run may be called from many threads at once.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;

  // Unique name, as responses tell it: "cpu/AVX3_DL".
  virtual std::string name() const = 0;
  // What it is, in words.
  virtual std::string description() const = 0;
  // Most threads that one call is spread over.
  virtual int threads() const = 0;

  // Computes a validated call. `inputs`: one pointer per input of the operator (nullptr where it is
  // absent) to invocation.input_bytes[i] bytes; `output`: invocation.output_bytes bytes that
  // overlap no input, every one of which is written.
  virtual void Run(const Invocation& invocation, std::span<const std::byte* const> inputs,
                   std::byte* output) const = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_COMPUTE_DEVICE_H_
