// File: server/base/fair_queue.h
//
// A queue in which clients take turns, however many items each of them has waiting.

#ifndef OPSERVE_SERVER_BASE_FAIR_QUEUE_H_
#define OPSERVE_SERVER_BASE_FAIR_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/base/fair_clients.h"

namespace opserve {

// Each client has a virtual time, which what it gets moves on by its cost; the client with the
// least is next, and between equals the oldest item. A client that has nothing here begins at the
// virtual time of the item that went last, or where it was if that is further: so each item waits
// for what its client has before it, and for about as much of each other client. Not thread-safe.
// Push, Pop and Remove take O(log items).
template <class Item>
class FairQueue {
 public:
  // Names an item for as long as it is here; no two items of a queue have the same.
  using Ticket = uint64_t;

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // `cost` in any unit, the same for all items.
  Ticket Push(absl::string_view client, uint64_t cost, Item item) {
    const Ticket ticket = next_ticket_++;
    Flow& flow = flows_.Find(std::string(client), present_);
    if (flow.is_waiting()) turns_.erase(TurnOf(flow));
    flow.waiting.insert(ticket);
    turns_.insert(TurnOf(flow));
    entries_.emplace(ticket, Entry{&flow, cost, std::move(item)});
    return ticket;
  }

  // The item whose turn it is. There must be one.
  Item Pop() {
    Flow& flow = *std::get<Flow*>(*turns_.begin());
    present_ = flow.virtual_time;
    const auto found = entries_.find(*flow.waiting.begin());
    const uint64_t cost = found->second.cost;
    return Take(found, cost);
  }

  // Whether the item is still here; it is not any more then, and its client is charged nothing.
  bool Remove(Ticket ticket) {
    const auto found = entries_.find(ticket);
    if (found == entries_.end()) return false;
    Take(found, 0);
    return true;
  }

 private:
  struct Flow {
    bool is_waiting() const { return !waiting.empty(); }

    uint64_t virtual_time = 0;
    std::set<Ticket> waiting;
  };
  struct Entry {
    Flow* flow;
    uint64_t cost;
    Item item;
  };
  using Entries = std::map<Ticket, Entry>;
  // Its virtual time and its oldest item, of which there must be one.
  using Turn = std::tuple<uint64_t, Ticket, Flow*>;

  static Turn TurnOf(Flow& flow) { return {flow.virtual_time, *flow.waiting.begin(), &flow}; }

  Item Take(typename Entries::iterator found, uint64_t cost) {
    Flow& flow = *found->second.flow;
    Item item = std::move(found->second.item);
    turns_.erase(TurnOf(flow));
    flow.waiting.erase(found->first);
    flow.virtual_time += cost;
    entries_.erase(found);
    if (flow.is_waiting()) turns_.insert(TurnOf(flow));
    if (turns_.empty()) flows_.Clear();
    return item;
  }

  Ticket next_ticket_ = 1;
  uint64_t present_ = 0;
  Entries entries_;
  FairClients<Flow> flows_;
  std::set<Turn> turns_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_FAIR_QUEUE_H_
