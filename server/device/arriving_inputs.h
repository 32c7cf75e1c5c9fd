// File: server/device/arriving_inputs.h
//
// Inputs of a call that still come while it is computed.

#ifndef OPSERVE_SERVER_DEVICE_ARRIVING_INPUTS_H_
#define OPSERVE_SERVER_DEVICE_ARRIVING_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace opserve {

// Elements of the inputs of a packed call, which come in their order. Used by one thread at a time.
class ArrivingInputs {
 public:
  // The next elements: they lie `place` elements behind where each input of the call begins.
  struct Part {
    uint64_t place = 0;
    uint64_t elements = 0;
  };

  // Waits until some have come, for a limited time. Fails with what the call is to be refused with,
  // where they do not come, or nobody waits for the result any more. Not to be called once all have
  // come.
  virtual absl::StatusOr<Part> Next() = 0;

  // What Next returned last is needed no more.
  virtual void Release() = 0;

 protected:
  ~ArrivingInputs() = default;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_ARRIVING_INPUTS_H_
