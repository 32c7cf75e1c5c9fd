// File: server/service/gpu_readiness.h
//
// Tells grpc.health.v1 whether a GPU takes requests.

#ifndef OPSERVE_SERVER_SERVICE_GPU_READINESS_H_
#define OPSERVE_SERVER_SERVICE_GPU_READINESS_H_

#include <optional>

#include "grpcpp/health_check_service_interface.h"
#include "proto/base/mutex.h"
#include "server/pool/device_pool.h"

namespace opserve {

// The name under which health answers for the GPUs; unknown to a server that is given none.
inline constexpr char kGpuServiceName[] = "opserve.v1.OperatorService/gpu";

// Keeps the health of kGpuServiceName true. Thread-safe. Asks and tells with no lock held: of the
// threads that bring news at a time one does it, again and again until there is no news.
class GpuReadiness {
 public:
  // Starts telling `health` about the GPUs of `pool`, if it may have any. Both must stay until
  // Detach.
  void Attach(grpc::HealthCheckServiceInterface& health, const DevicePool& pool) {
    if (!pool.has_gpus()) return;
    {
      MutexLock lock(mutex_);
      health_ = &health;
      pool_ = &pool;
    }
    Update();
  }

  // To be called after each change of a device's state. Health is told what is true after it, by
  // this thread or by the one that is telling. Does nothing while detached.
  void Update() {
    {
      MutexLock lock(mutex_);
      has_news_ = true;
      if (is_telling_) return;
      is_telling_ = true;
    }
    while (const std::optional<Attached> now = TakeNews()) {
      const bool is_ready = now->pool.gpu_ready();
      // Those who watch hear of each call, so only of changes.
      if (told_ != is_ready) now->health.SetServingStatus(kGpuServiceName, is_ready);
      told_ = is_ready;
    }
  }

  // Once this returns, neither health nor pool are used any more.
  void Detach() {
    MutexLock lock(mutex_);
    health_ = nullptr;
    pool_ = nullptr;
    while (is_telling_) idle_.Wait(mutex_);
  }

 private:
  struct Attached {
    grpc::HealthCheckServiceInterface& health;
    const DevicePool& pool;
  };

  // Whom to ask and to tell; nullopt once there is no news: this thread then tells no more.
  std::optional<Attached> TakeNews() {
    MutexLock lock(mutex_);
    if (!has_news_ || health_ == nullptr) {
      is_telling_ = false;
      idle_.NotifyAll();
      return std::nullopt;
    }
    has_news_ = false;
    return Attached{*health_, *pool_};
  }

  Mutex mutex_;
  CondVar idle_;
  grpc::HealthCheckServiceInterface* health_ ABSL_GUARDED_BY(mutex_) = nullptr;
  const DevicePool* pool_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool has_news_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_telling_ ABSL_GUARDED_BY(mutex_) = false;
  // What health was told. Of the thread that tells.
  std::optional<bool> told_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_GPU_READINESS_H_
