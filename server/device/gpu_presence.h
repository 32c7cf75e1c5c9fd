// File: server/device/gpu_presence.h
//
// What a request that asks for a GPU meets.

#ifndef OPSERVE_SERVER_DEVICE_GPU_PRESENCE_H_
#define OPSERVE_SERVER_DEVICE_GPU_PRESENCE_H_

#include <cstdint>

namespace opserve {

enum class GpuPresence : uint8_t {
  kNone,      // the server has no GPU, and will have none
  kStarting,  // none takes requests yet: the server looks for them, or makes the first of them
  kThere,     // the server has GPUs; where none takes requests now, the processor does in its place
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_GPU_PRESENCE_H_
