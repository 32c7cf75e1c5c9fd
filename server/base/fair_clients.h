// File: server/base/fair_clients.h
//
// How far each client of a queue is that is fair between them.

#ifndef OPSERVE_SERVER_BASE_FAIR_CLIENTS_H_
#define OPSERVE_SERVER_BASE_FAIR_CLIENTS_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/node_hash_map.h"

namespace opserve {

// A `Client` has a `virtual_time`, which is 0 at first and which the queue moves on by what the
// client gets, and says with `is_waiting()` whether it has something in the queue.
//
// One that has nothing there any more is remembered while others wait: else clients that send one
// request after the other would never be any further than those who wait, who would wait for ever.
// How many are remembered is bounded by how many waited lately. Not thread-safe.
template <class Client>
class FairClients {
 public:
  using VirtualTime = decltype(Client::virtual_time);

  FairClients() = default;
  FairClients(const FairClients&) = delete;
  FairClients& operator=(const FairClients&) = delete;

  // The client of that name, perhaps a new one, which stays where it is while it waits. If it does
  // not yet, it begins at `present`, or where it was if that is further: what it had while others
  // waited is not forgiven, and pauses earn nothing.
  Client& Find(const std::string& name, VirtualTime present) {
    if (clients_.size() >= most_) ForgetIdle(present);
    Client& client = clients_.try_emplace(name).first->second;
    if (!client.is_waiting()) client.virtual_time = std::max(client.virtual_time, present);
    return client;
  }

  // Forgets all of them: nobody waits who could have been before them.
  void Clear() { clients_.clear(); }

  // How many are known.
  size_t size() const { return clients_.size(); }

 private:
  static constexpr size_t kFew = 64;

  // Forgets those of whom nothing needs to be known any more; all that do not wait, if there are
  // many.
  void ForgetIdle(VirtualTime present) {
    size_t waiting = 0;
    absl::erase_if(clients_, [&](const auto& entry) {
      if (entry.second.is_waiting()) ++waiting;
      return !entry.second.is_waiting() && entry.second.virtual_time <= present;
    });
    if (clients_.size() > 2 * waiting + kFew) {
      absl::erase_if(clients_, [](const auto& entry) { return !entry.second.is_waiting(); });
    }
    // It takes long to look through a large table that holds little.
    clients_.rehash(0);
    most_ = std::max(kFew, 2 * clients_.size());
  }

  absl::node_hash_map<std::string, Client> clients_;
  // When there are so many, some are forgotten.
  size_t most_ = kFew;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_FAIR_CLIENTS_H_
