// File: server/base/on_demand.h
//
// An object that is made when somebody first needs it.

#ifndef OPSERVE_SERVER_BASE_ON_DEMAND_H_
#define OPSERVE_SERVER_BASE_ON_DEMAND_H_

#include <atomic>
#include <memory>
#include <new>

namespace opserve {

// Takes the room of a pointer until then, for large tables of which little is used. Nobody takes a
// lock. Thread-safe, as far as T is.
template <typename T>
class OnDemand {
 public:
  OnDemand() = default;
  ~OnDemand() { delete made_.load(std::memory_order_relaxed); }
  OnDemand(const OnDemand&) = delete;
  OnDemand& operator=(const OnDemand&) = delete;

  // nullptr where nobody has needed it yet.
  const T* get() const { return made_.load(std::memory_order_acquire); }

  // Made now unless it is there already; it stays where it is. nullptr where there is no memory.
  T* Make() {
    T* there = made_.load(std::memory_order_acquire);
    if (there != nullptr) return there;
    std::unique_ptr<T> made(new (std::nothrow) T());
    if (made == nullptr) return nullptr;
    // Of those that threads make at the same time one remains.
    const bool is_first =
        made_.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel);
    return is_first ? made.release() : there;
  }

 private:
  std::atomic<T*> made_ = nullptr;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_ON_DEMAND_H_
