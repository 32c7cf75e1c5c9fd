// File: tests/fuzz/place_check.h
//
// Takes a request whose tensors are outside of its message through the server's checks.

#ifndef OPSERVE_TESTS_FUZZ_PLACE_CHECK_H_
#define OPSERVE_TESTS_FUZZ_PLACE_CHECK_H_

#include "opserve/v1/operator_service.pb.h"
#include "tests/fuzz/region_world.h"

namespace opserve::fuzz {

// Resolves the places of `request` as the server does and, where they are accepted, runs it there.
// Aborts where an error is of the wrong kind, where an accepted place is not within its region or
// lacks bytes that a descriptor needs, and where the result in its place is not what the same call
// gives in memory of its own.
void CheckPlaces(RegionWorld& world, v1::ExecuteRequest request);

}  // namespace opserve::fuzz

#endif  // OPSERVE_TESTS_FUZZ_PLACE_CHECK_H_
