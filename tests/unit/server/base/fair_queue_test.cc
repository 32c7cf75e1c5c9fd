// Whose turn it is in a FairQueue.

#include "server/base/fair_queue.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/fair_clients.h"

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

// Also where those who wait are others each time, so that none of them has got anything yet.
TEST(FairQueueTest, WhoeverWaitsGetsAShare) {
  Queue queue;
  for (const char* const client : {"1", "2", "3"}) queue.Push(client, 10, client);
  for (int i = 0; i < 8; ++i) queue.Push("many", 10, "many");
  int taken = 0;
  std::string running;
  for (int i = 0; i < 400; ++i) {
    const std::string client = queue.Pop();
    taken += client == "many" ? 1 : 0;
    if (!running.empty()) queue.Push(running, 10, running);
    running = client;
  }
  EXPECT_NEAR(taken, 100, 5);
}

TEST(FairQueueTest, WhatClientsGotIsForgottenWhereNobodyWaits) {
  Queue queue;
  for (const char* const item : {"a1", "a2", "a3"}) queue.Push("a", 1000, item);
  EXPECT_EQ(PopAll(queue).size(), 3u);
  queue.Push("a", 10, "a4");
  queue.Push("b", 10, "b1");
  EXPECT_EQ(PopAll(queue), (std::vector<std::string>{"a4", "b1"}));
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

struct FakeClient {
  bool is_waiting() const { return waits; }

  uint64_t virtual_time = 0;
  bool waits = false;
};

TEST(FairClientsTest, WhoIsFurtherStaysThere) {
  FairClients<FakeClient> clients;
  clients.Find("a", 5).virtual_time = 30;
  EXPECT_EQ(clients.Find("a", 20).virtual_time, 30u);
  EXPECT_EQ(clients.Find("a", 40).virtual_time, 40u);
  clients.Find("a", 40).waits = true;
  EXPECT_EQ(clients.Find("a", 50).virtual_time, 40u);
  clients.Clear();
  EXPECT_EQ(clients.Find("a", 0).virtual_time, 0u);
}

// Names are free.
TEST(FairClientsTest, FewAreRememberedThatDoNotWait) {
  FairClients<FakeClient> clients;
  for (int i = 0; i < 10; ++i) clients.Find("waiting" + std::to_string(i), 1).waits = true;
  size_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    // Every other one is further than those that wait.
    clients.Find(std::to_string(i), 1).virtual_time = static_cast<uint64_t>(i % 2) * 1000;
    most = std::max(most, clients.size());
  }
  EXPECT_LE(most, 200u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(clients.Find("waiting" + std::to_string(i), 1).is_waiting()) << i;
  }
}

// Of whom nothing needs to be known goes first.
TEST(FairClientsTest, WhoIsFurthestIsRemembered) {
  FairClients<FakeClient> clients;
  clients.Find("far", 1).virtual_time = 1000;
  for (int i = 0; i < 10'000; ++i) clients.Find(std::to_string(i), 1);
  EXPECT_EQ(clients.Find("far", 1).virtual_time, 1000u);
}

}  // namespace
}  // namespace opserve::testing
