// Whose turn it is in a FairQueue.

#include "server/base/fair_queue.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using Queue = FairQueue<std::string>;

std::vector<std::string> PopAll(Queue& queue) {
  std::vector<std::string> items;
  while (!queue.empty()) items.push_back(queue.Pop());
  return items;
}

TEST(FairQueueTest, ClientsTakeTurnsInTheOrderOfTheirItems) {
  Queue queue;
  for (const char* const item : {"a1", "a2", "a3"}) queue.Push("a", 10, item);
  for (const char* const item : {"b1", "b2"}) queue.Push("b", 10, item);
  EXPECT_EQ(queue.size(), 5u);
  EXPECT_EQ(PopAll(queue), (std::vector<std::string>{"a1", "b1", "a2", "b2", "a3"}));
}

TEST(FairQueueTest, CostsCount) {
  Queue queue;
  queue.Push("a", 30, "a1");
  queue.Push("a", 30, "a2");
  for (const char* const item : {"b1", "b2", "b3", "b4"}) queue.Push("b", 10, item);
  EXPECT_EQ(PopAll(queue), (std::vector<std::string>{"a1", "b1", "b2", "b3", "a2", "b4"}));
}

// Who had nothing here for long has saved nothing up, and does not wait for what others got before.
TEST(FairQueueTest, ANewClientIsNextAndNoMore) {
  Queue queue;
  for (const char* const item : {"a1", "a2", "a3", "a4"}) queue.Push("a", 1000, item);
  EXPECT_EQ(queue.Pop(), "a1");
  EXPECT_EQ(queue.Pop(), "a2");
  queue.Push("b", 1000, "b1");
  queue.Push("b", 1000, "b2");
  EXPECT_EQ(PopAll(queue), (std::vector<std::string>{"b1", "a3", "b2", "a4"}));
}

TEST(FairQueueTest, WhatIsRemovedIsGoneAndCostsNothing) {
  Queue queue;
  const Queue::Ticket first = queue.Push("a", 1000, "a1");
  queue.Push("a", 10, "a2");
  const Queue::Ticket alone = queue.Push("c", 10, "c1");
  queue.Push("b", 10, "b1");
  EXPECT_TRUE(queue.Remove(first));
  EXPECT_FALSE(queue.Remove(first));
  EXPECT_TRUE(queue.Remove(alone));
  EXPECT_EQ(PopAll(queue), (std::vector<std::string>{"a2", "b1"}));
  EXPECT_FALSE(queue.Remove(alone));
}

}  // namespace
}  // namespace opserve::testing
