// File: server/device/cpu/processor_name.h
//
// What the processor calls itself.

#ifndef OPSERVE_SERVER_DEVICE_CPU_PROCESSOR_NAME_H_
#define OPSERVE_SERVER_DEVICE_CPU_PROCESSOR_NAME_H_

#include <string>

namespace opserve {

// The processor's own name, such as "AMD EPYC 7B13", where the system tells it; else "processor".
// Safe to use from any thread.
std::string ProcessorName();

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_CPU_PROCESSOR_NAME_H_
