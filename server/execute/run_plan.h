// File: server/execute/run_plan.h
//
// How a request is divided that is computed while it still comes: into runs, each of which has the
// same few elements of every tensor that comes in runs. Inputs that are repeated over the result
// come before the first run, and are held.

#ifndef OPSERVE_SERVER_EXECUTE_RUN_PLAN_H_
#define OPSERVE_SERVER_EXECUTE_RUN_PLAN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/invocation.h"
#include "kernels/sequence.h"

namespace opserve {

// The sum of `bytes`, and at most the highest number that there is: clients choose how long their
// payloads are. Pure.
uint64_t TotalOf(std::span<const uint64_t> bytes);

// What a client offers.
struct RunOffer {
  // Most bytes of payloads that a run is to have; 0: any number.
  uint64_t run_bytes = 0;
  // Whether the client can send payloads ahead of the runs.
  bool sends_ahead = false;
};

// A value; what is not said by the members follows from them.
struct RunPlan {
  uint64_t element_count = 0;
  // Elements of a run, at least 1; the last one has what is left.
  uint64_t run_elements = 1;
  // Bytes of an element of each payload, 0 where it is sent ahead, and of each result.
  std::vector<uint64_t> element_bytes;
  std::vector<uint64_t> result_element_bytes;
  // Lengths of the payloads that are sent ahead, 0 for those that come in runs. Empty: none is.
  std::vector<uint64_t> ahead = {};
  // What lies between the steps of a sequence while a run is computed.
  uint64_t workspace_bytes = 0;
  // How many runs may be open at a time: begun by the client, and their results not sent.
  uint64_t max_open_runs = 1;

  uint64_t run_count() const { return (element_count + run_elements - 1) / run_elements; }
  uint64_t ElementsOf(uint64_t run) const;
  // Bytes of each payload in a run.
  std::vector<uint64_t> LengthsOf(uint64_t run) const;
  // Bytes of what is sent ahead.
  uint64_t ahead_bytes() const;
  // Bytes of the inputs and the results of a run that is not the last, and of all runs with what is
  // sent ahead.
  uint64_t run_bytes() const;
  uint64_t bytes() const;
  // Bytes that the open runs hold at most, with what is sent ahead and the workspace.
  uint64_t held_bytes() const {
    return ahead_bytes() + workspace_bytes + max_open_runs * run_bytes();
  }
};

// A plan, or why there is none, in words that go with "because".
struct RunDivision {
  std::optional<RunPlan> plan = {};
  std::string why_whole = {};
};

// Divides a valid call with payloads of these lengths. No tensor of a run is more than fits into
// one message of an answer, and several runs fit into `window_bytes` beside what is sent ahead,
// unless they have one element.
RunDivision PlanRuns(const Invocation& call, std::span<const uint64_t> payload_bytes,
                     const RunOffer& offer, uint64_t window_bytes);

// The same for a valid sequence, whose inputs are the payloads; one workspace fits into the window,
// too.
RunDivision PlanRuns(const SequenceInvocation& sequence, std::span<const uint64_t> payload_bytes,
                     const RunOffer& offer, uint64_t window_bytes);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_RUN_PLAN_H_
