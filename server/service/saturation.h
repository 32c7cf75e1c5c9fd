// File: server/service/saturation.h
//
// Whether the server is so full that new requests should go elsewhere.

#ifndef OPSERVE_SERVER_SERVICE_SATURATION_H_
#define OPSERVE_SERVER_SERVICE_SATURATION_H_

#include <chrono>

#include "server/admission/admission.h"

namespace opserve {

// The name under which the health service tells it: NOT_SERVING while the server is full. The other
// names stay SERVING then, as a full server is a healthy one.
inline constexpr char kAdmissionHealthName[] = "opserve.v1.OperatorService/admission";

// Judges from samples of what is held. It is full from the first sample on in which 15 of 16 parts
// of a budget are taken, and has room again after four samples in a row below three quarters of
// both: load that comes and goes around the limit does not flap. Belongs to one thread.
class Saturation {
 public:
  // How often to take a sample.
  static constexpr std::chrono::milliseconds kPeriod{250};

  explicit Saturation(const AdmissionLimits& limits) : limits_(limits) {}

  // Takes the next sample; returns whether the server is full.
  bool Sample(const Admission::Usage& held);

 private:
  static constexpr int kCalmSamples = 4;

  const AdmissionLimits limits_;
  bool is_full_ = false;
  int calm_samples_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_SATURATION_H_
