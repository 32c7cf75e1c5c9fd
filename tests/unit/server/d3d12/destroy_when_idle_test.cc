#include "server/d3d12/destroy_when_idle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "server/d3d12/runtime/event.h"

namespace opserve::d3d12 {
namespace {

using std::chrono::seconds;

// Tells of its end.
struct UsedObject {
  explicit UsedObject(Event& destroyed) : is_destroyed(destroyed) {}
  ~UsedObject() { is_destroyed.Set(); }
  UsedObject(const UsedObject&) = delete;
  UsedObject& operator=(const UsedObject&) = delete;

  Event& is_destroyed;
};

TEST(DestroyWhenIdleTest, WhatIsIdleIsDestroyedOnReturn) {
  Event destroyed;
  DestroyWhenIdle(
      std::make_unique<UsedObject>(destroyed), [](const UsedObject&) { return true; },
      seconds(300));
  EXPECT_TRUE(destroyed.WaitFor(seconds(0)));
}

TEST(DestroyWhenIdleTest, WhatIsInUseIsDestroyedLater) {
  Event destroyed;
  const auto idle = std::make_shared<Event>();
  DestroyWhenIdle(
      std::make_unique<UsedObject>(destroyed),
      [idle](const UsedObject&) { return idle->WaitFor(seconds(300)); }, seconds(0));
  EXPECT_FALSE(destroyed.WaitFor(seconds(0)));
  idle->Set();
  EXPECT_TRUE(destroyed.WaitFor(seconds(300)));
}

TEST(DestroyWhenIdleTest, WhatCannotBeWaitedForIsNeverDestroyed) {
  Event destroyed;
  DestroyWhenIdle(
      std::make_unique<UsedObject>(destroyed), [](const UsedObject&) { return false; },
      seconds(300));
  EXPECT_FALSE(destroyed.WaitFor(seconds(0)));
}

}  // namespace
}  // namespace opserve::d3d12
