// File: server/service/gpu_readiness.h
//
// Tells grpc.health.v1 whether a GPU takes requests.

#ifndef OPSERVE_SERVER_SERVICE_GPU_READINESS_H_
#define OPSERVE_SERVER_SERVICE_GPU_READINESS_H_

#include "grpcpp/health_check_service_interface.h"
#include "proto/base/mutex.h"
#include "server/pool/device_pool.h"

namespace opserve {

// The name under which health answers for the GPUs; unknown to a server without any.
inline constexpr char kGpuServiceName[] = "opserve.v1.OperatorService/gpu";

// Keeps the health of kGpuServiceName true. Thread-safe.
class GpuReadiness {
 public:
  // Starts telling `health` about the GPUs of `pool`, if it has any. Both must stay until Detach.
  void Attach(grpc::HealthCheckServiceInterface& health, const DevicePool& pool) {
    MutexLock lock(mutex_);
    if (!pool.has_gpus()) return;
    health_ = &health;
    pool_ = &pool;
    is_ready_ = pool.gpu_ready();
    health.SetServingStatus(kGpuServiceName, is_ready_);
  }

  // To be called after each change of a device's state. Does nothing while detached.
  void Update() {
    MutexLock lock(mutex_);
    // The pool is asked under the lock: of two changes at a time, whichever comes second tells what
    // is true after both.
    if (health_ == nullptr || pool_->gpu_ready() == is_ready_) return;
    // Those who watch hear of each call, so only of changes.
    is_ready_ = !is_ready_;
    health_->SetServingStatus(kGpuServiceName, is_ready_);
  }

  // Once this returns, neither health nor pool are used any more.
  void Detach() {
    MutexLock lock(mutex_);
    health_ = nullptr;
    pool_ = nullptr;
  }

 private:
  Mutex mutex_;
  grpc::HealthCheckServiceInterface* health_ ABSL_GUARDED_BY(mutex_) = nullptr;
  const DevicePool* pool_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // What health was told.
  bool is_ready_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_GPU_READINESS_H_
