// File: server/execute/run_plan.h
//
// How a request is divided that is computed while it still comes: into runs, each of which has the
// same few elements of every tensor.

#ifndef OPSERVE_SERVER_EXECUTE_RUN_PLAN_H_
#define OPSERVE_SERVER_EXECUTE_RUN_PLAN_H_

#include <cstdint>
#include <vector>

#include "kernels/invocation.h"

namespace opserve {

// A value; what is not said by the members follows from them.
struct RunPlan {
  uint64_t element_count = 0;
  // Elements of a run, at least 1; the last one has what is left.
  uint64_t run_elements = 1;
  // Bytes of an element of each payload, and of the result.
  std::vector<uint64_t> element_bytes;
  uint64_t result_element_bytes = 0;
  // How many runs may be open at a time: begun by the client, and their results not sent.
  uint64_t max_open_runs = 1;

  uint64_t run_count() const { return (element_count + run_elements - 1) / run_elements; }
  uint64_t ElementsOf(uint64_t run) const;
  // Bytes of each payload in a run.
  std::vector<uint64_t> LengthsOf(uint64_t run) const;
  // Bytes of the inputs and the result of a run that is not the last, and of all runs.
  uint64_t run_bytes() const;
  uint64_t bytes() const;
  // Bytes that the open runs hold at most.
  uint64_t held_bytes() const { return max_open_runs * run_bytes(); }
};

// Divides a flat call whose payloads have exactly the bytes that their tensors need. A run has at
// most `wished_bytes` bytes of payloads (0: as many as there may be), no tensor of it more than
// fits into one message of an answer, and several runs fit into `window_bytes`, unless they have
// one element.
RunPlan PlanRuns(const Invocation& call, uint64_t wished_bytes, uint64_t window_bytes);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_RUN_PLAN_H_
