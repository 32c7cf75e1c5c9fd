// File: tests/prove/adapter_proof.h
//
// The kernels of operators of one input as an adapter of this machine runs them: all FLOAT16, and
// FLOAT32 as many as wanted.

#ifndef OPSERVE_TESTS_PROVE_ADAPTER_PROOF_H_
#define OPSERVE_TESTS_PROVE_ADAPTER_PROOF_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/op_table.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::testing {

// What is proven on an adapter.
struct AdapterProofOptions {
  // One FLOAT32 of so many.
  uint64_t stride = 1;
  // Takes only the usual values of attributes, and each mode.
  bool is_usual = false;
};

// An adapter, and the run time that knows it.
struct ProvenAdapter {
  std::shared_ptr<const d3d12::Runtime> runtime;
  int index = 0;
};

// The adapter at the position `wanted`, or the first one that is hardware where that is not given.
// NOT_FOUND where there is no run time, no adapter, or no hardware; OUT_OF_RANGE where the position
// does not exist.
absl::StatusOr<ProvenAdapter> FindAdapter(std::optional<int> wanted);

// The operators that can be proven so.
std::vector<OpId> OperatorsOfAdapters();

// Proves `ops`, and prints a line for each type, mode and setting of attributes. Returns whether
// nothing was wrong, and nothing failed.
bool ProveOnAdapter(const ProvenAdapter& adapter, const std::vector<OpId>& ops,
                    const AdapterProofOptions& options);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_PROVE_ADAPTER_PROOF_H_
