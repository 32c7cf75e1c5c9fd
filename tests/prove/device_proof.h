// File: tests/prove/device_proof.h
//
// Operators of one input as a device computes them, against the processor's kernels, which are
// compared with MPFR elsewhere. What a driver makes of a kernel is in it, as its text is not.

#ifndef OPSERVE_TESTS_PROVE_DEVICE_PROOF_H_
#define OPSERVE_TESTS_PROVE_DEVICE_PROOF_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/device/compute_device.h"
#include "tests/conformance/call_cases.h"

namespace opserve::testing {

// How many wrong elements a proof keeps.
inline constexpr size_t kWrongElementsKept = 10;

// An element that the device computes otherwise than the processor, as bits.
struct WrongElement {
  uint64_t input = 0;
  uint64_t actual = 0;
  uint64_t expected = 0;
};

// What became of a proof.
struct DeviceProof {
  // Of these the results were compared.
  uint64_t inputs = 0;
  // Inputs that the device leaves open, as the text of its kernel says it may: others were tried in
  // their place.
  uint64_t open = 0;
  uint64_t wrong = 0;
  // The first that were found.
  std::vector<WrongElement> first_wrong = {};
  // Why the device did not run everything; OK if it did.
  absl::Status status = absl::OkStatus();

  bool is_good() const { return status.ok() && wrong == 0; }
};

// Compares one input of `stride`, of all that `cell` has, in packed calls with the attributes of
// `setting` (kernels/attribute_settings.h), several at a time. `cell`: of one input.
DeviceProof ProveOnDevice(ComputeDevice& device, const Cell& cell, int setting, uint64_t stride);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_PROVE_DEVICE_PROOF_H_
