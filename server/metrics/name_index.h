// File: server/metrics/name_index.h
//
// Small numbers for names that live for long, found by their address.

#ifndef OPSERVE_SERVER_METRICS_NAME_INDEX_H_
#define OPSERVE_SERVER_METRICS_NAME_INDEX_H_

#include <array>
#include <atomic>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"

namespace opserve {

// Numbers names from 0 in the order in which they come. A name that was seen before, at the same
// address, costs a few loads and no lock. Names must live as long as the index. Thread-safe.
template <size_t kCapacity>
class NameIndex {
 public:
  // The number of all names for which there is no room.
  static constexpr size_t kOther = kCapacity;

  // The number of `name`, which is the same for equal names at different addresses.
  size_t Of(absl::string_view name) {
    for (const Place& place : places_) {
      const char* const text = place.text.load(std::memory_order_acquire);
      if (text == nullptr) break;
      if (text == name.data() && place.bytes == name.size()) return place.number;
    }
    return Learn(name);
  }

  // The name with that number, which was returned before; "other" for kOther.
  absl::string_view NameOf(size_t number) const {
    for (const Place& place : places_) {
      const char* const text = place.text.load(std::memory_order_acquire);
      if (text == nullptr) break;
      if (place.number == number) return {text, place.bytes};
    }
    return "other";
  }

 private:
  // A name at one address. Does not change once `text` is set.
  struct Place {
    std::atomic<const char*> text = nullptr;
    size_t bytes = 0;
    size_t number = 0;
  };

  size_t Learn(absl::string_view name) {
    MutexLock lock(mutex_);
    // That of an equal name, or else the next one.
    size_t number = 0;
    bool is_known = false;
    for (Place& place : places_) {
      const char* const text = place.text.load(std::memory_order_relaxed);
      if (text == nullptr) {
        if (number == kCapacity) return kOther;
        place.bytes = name.size();
        place.number = number;
        place.text.store(name.data(), std::memory_order_release);
        return number;
      }
      if (name == absl::string_view(text, place.bytes)) {
        is_known = true;
        number = place.number;
        if (text == name.data()) return number;
      } else if (!is_known && place.number >= number) {
        number = place.number + 1;
      }
    }
    return is_known ? number : kOther;
  }

  // Equal names may come from two addresses each.
  std::array<Place, 2 * kCapacity> places_;
  Mutex mutex_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_NAME_INDEX_H_
