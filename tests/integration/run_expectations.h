// File: tests/integration/run_expectations.h
//
// What becomes of requests that are offered in runs: the result of Execute, in runs or not.

#ifndef OPSERVE_TESTS_INTEGRATION_RUN_EXPECTATIONS_H_
#define OPSERVE_TESTS_INTEGRATION_RUN_EXPECTATIONS_H_

#include <cstdint>
#include <string>

#include "opserve/v1/operator_service.pb.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {

// Waits until no request is under way, and expects that nothing is held for any.
void ExpectNothingHeld(TestServer& server);

// Offers the request in runs of `run_bytes` bytes, and compares the result with that of Execute.
void ExpectSameInRuns(TestServer& server, const v1::ExecuteRequest& request, uint64_t run_bytes);

// Expects terms without runs for this reason, whatever is wished, and the result of Execute once
// the payloads have come one after the other.
void ExpectPutTogether(TestServer& server, const v1::ExecuteRequest& request,
                       const std::string& reason, bool sends_ahead = true);

// Offers the request, of one operator or a sequence, in runs of 4000 bytes of payloads to a server
// of its own, and cancels it after the first run: while one is at work and others wait, and while
// none is. It must have at least six runs. Nothing of it may be taken for a result, and nothing is
// held in the end.
void ExpectCancelledHalfWay(const v1::ExecuteRequest& request);
void ExpectCancelledHalfWay(const v1::ExecuteSequenceRequest& request);

// The same with a device that fails at its fourth run: that is told.
void ExpectErrorHalfWay(const v1::ExecuteRequest& request);
void ExpectErrorHalfWay(const v1::ExecuteSequenceRequest& request);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_RUN_EXPECTATIONS_H_
