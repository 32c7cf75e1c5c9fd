#include "server/edge/read_turns.h"

#include <chrono>
#include <utility>

#include "server/edge/connection_table.h"

namespace opserve {
namespace {

// So long after its last read a client counts as there.
constexpr std::chrono::seconds kPresence{1};
// Most bytes of a read while others may wait: some tens of microseconds of copying.
constexpr size_t kMostBytes = 256 << 10;
// A turn that is not taken for so long goes to another connection.
constexpr std::chrono::milliseconds kTurnLimit{100};

}  // namespace

ReadTurns::Connections ReadTurns::SetClient(EdgeConnection& connection, absl::string_view client) {
  MutexLock lock(mutex_);
  Place& place = connection.place;
  Client* const before = place.client_;
  if (place.state_ == Place::State::kLeft) return {};
  if (before != nullptr && before->name == client) return {};
  Connections to_wake = Remove(connection);
  std::unique_ptr<Client>& now = clients_[client];
  if (now == nullptr) {
    now = std::make_unique<Client>();
    now->name = std::string(client);
  }
  ++now->connections;
  place.client_ = now.get();
  return to_wake;
}

ReadTurns::Answer ReadTurns::OnRead(EdgeConnection& connection, uint64_t round,
                                    Clock::TimePoint now, absl::FunctionRef<bool()> has_bytes) {
  Place& place = connection.place;
  // The place has no client, or one that is not there any more.
  const Client* const reader = place.client_;
  if (reader == nullptr) return {};
  const bool is_shared = IsShared(*reader, now);
  if (!is_shared && place.state_ == Place::State::kFree) return {};
  MutexLock lock(mutex_);
  now_ = now;
  // It may have left just now.
  if (place.client_ == nullptr) return {};
  Client& client = *place.client_;
  Answer answer;
  answer.most_bytes = kMostBytes;
  const bool is_next = place.state_ == Place::State::kNext;
  if (is_next && client.round != round) {
    place.state_ = Place::State::kFree;
    client.round = round;
    answer.to_wake = CallNext(client);
  } else if (is_next) {
    // gRPC asks again where it has read something, or another of its threads was polling already
    // when the connection was woken. That may have been the only time it is told, so it is woken
    // once more.
    answer.may_read = false;
    answer.to_wake = client.next;
  } else if (place.state_ == Place::State::kWaiting) {
    answer.may_read = false;
  } else if (client.next == nullptr && client.round != round) {
    client.round = round;
  } else if (has_bytes()) {
    place.state_ = Place::State::kWaiting;
    client.waiting.push_back(connection.shared_from_this());
    answer.may_read = false;
    if (client.next == nullptr) answer.to_wake = CallNext(client);
  }
  return answer;
}

ReadTurns::Connections ReadTurns::Leave(EdgeConnection& connection) {
  MutexLock lock(mutex_);
  Connections to_wake = Remove(connection);
  connection.place.state_ = Place::State::kLeft;
  return to_wake;
}

ReadTurns::Connections ReadTurns::OnTick(Clock::TimePoint now) {
  MutexLock lock(mutex_);
  now_ = now;
  Connections to_wake;
  for (auto& [name, client] : clients_) {
    if (client->next == nullptr || now - client->called < kTurnLimit) continue;
    client->next->place.state_ = Place::State::kFree;
    // Should it be there still, it reads at its leisure.
    to_wake.push_back(client->next);
    if (auto next = CallNext(*client); next != nullptr) to_wake.push_back(std::move(next));
  }
  return to_wake;
}

bool ReadTurns::IsShared(const Client& reader, Clock::TimePoint now) {
  const Client* const last = last_client_.load(std::memory_order_relaxed);
  if (last != &reader) {
    last_client_.store(&reader, std::memory_order_relaxed);
    if (last != nullptr) last_change_.store(now, std::memory_order_relaxed);
  }
  const Clock::TimePoint change = last_change_.load(std::memory_order_relaxed);
  return change != Clock::TimePoint::min() && now - change < kPresence;
}

std::shared_ptr<EdgeConnection> ReadTurns::CallNext(Client& client) {
  client.next = nullptr;
  if (client.waiting.empty()) return nullptr;
  client.next = std::move(client.waiting.front());
  client.waiting.pop_front();
  client.next->place.state_ = Place::State::kNext;
  client.called = now_;
  return client.next;
}

ReadTurns::Connections ReadTurns::Remove(EdgeConnection& connection) {
  Place& place = connection.place;
  Client* const client = place.client_.exchange(nullptr);
  if (client == nullptr) return {};
  Connections to_wake;
  const Place::State state = place.state_.exchange(Place::State::kFree);
  if (state != Place::State::kFree) to_wake.push_back(connection.shared_from_this());
  if (state == Place::State::kWaiting) {
    std::erase_if(client->waiting, [&](const auto& one) { return one.get() == &connection; });
  } else if (state == Place::State::kNext) {
    if (auto next = CallNext(*client); next != nullptr) to_wake.push_back(std::move(next));
  }
  if (--client->connections > 0) return to_wake;
  // Whoever reads next takes no turns with one that has gone: it may be the same, connected anew or
  // known by a better name.
  const Client* gone = client;
  last_client_.compare_exchange_strong(gone, nullptr, std::memory_order_relaxed);
  clients_.erase(client->name);
  return to_wake;
}

}  // namespace opserve
