#include "client/rpc/hosts.h"

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "client/base/status_details.h"
#include "client/rpc/target.h"
#include "opserve/errors.h"

namespace opserve::client_internal {
namespace {

// Hosts that servers told of, and names of one of them. Beyond them calls go to any host, which
// says where they belong.
constexpr size_t kMostTold = 1024;

bool Contains(const std::vector<size_t>& numbers, size_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// Has a channel connect that is idle.
HostState StateOfChannel(grpc::Channel* channel) {
  if (channel == nullptr) return HostState::kReady;
  switch (channel->GetState(/*try_to_connect=*/true)) {
    case GRPC_CHANNEL_READY:
      return HostState::kReady;
    case GRPC_CHANNEL_TRANSIENT_FAILURE:
    case GRPC_CHANNEL_SHUTDOWN:
      return HostState::kFailed;
    default:
      return HostState::kConnecting;
  }
}

}  // namespace

size_t ChooseHost(const std::vector<HostLoad>& hosts, size_t turn) {
  // Lower is better. One that the call failed on is better than one that nobody reaches.
  const auto rank = [](const HostLoad& host) {
    return std::tuple(host.state == HostState::kFailed, host.has_failed, host.state);
  };
  auto best = rank(hosts.front());
  for (const HostLoad& host : hosts) best = std::min(best, rank(host));
  int fewest = INT_MAX;
  for (const HostLoad& host : hosts) {
    if (rank(host) == best) fewest = std::min(fewest, host.calls);
  }
  size_t chosen = turn % hosts.size();
  while (rank(hosts[chosen]) != best || hosts[chosen].calls - fewest >= kMostLead) {
    chosen = (chosen + 1) % hosts.size();
  }
  return chosen;
}

Hosts::Hosts(const std::vector<std::string>& addresses, Connect connect)
    : connect_(std::move(connect)),
      listed_(addresses.size()),
      has_several_(addresses.size() > 1 || NamesAllHosts(addresses.front())) {
  const MutexLock lock(mutex_);
  for (const std::string& address : addresses) {
    hosts_.push_back(MakeHost(address, hosts_.size(), has_several_));
  }
}

std::unique_ptr<Hosts::Host> Hosts::MakeHost(const std::string& address, size_t number,
                                             bool is_among_several) {
  std::vector<ClientConnection> connections = connect_(address, is_among_several);
  if (connections.empty()) return nullptr;
  for (ClientConnection& connection : connections) connection.host = number;
  if (number < listed_) channels_.push_back(connections.front().channel);
  auto host = std::make_unique<Host>();
  host->address = address;
  host->connections = std::make_unique<Connections>(std::move(connections));
  host->stands_for_several = NamesAllHosts(address);
  return host;
}

HostState Hosts::StateOf(size_t number) { return StateOfChannel(channels_[number].get()); }

const ClientConnection& Hosts::Begin(absl::string_view name, Route& route) {
  std::vector<HostLoad> loads;
  if (listed_ > 1) {
    loads.resize(listed_);
    for (size_t i = 0; i < listed_; ++i) loads[i].state = StateOf(i);
  }
  const MutexLock lock(mutex_);
  std::optional<size_t> number;
  if (!name.empty()) number = Find(name);
  if (!number && listed_ > 1) {
    for (size_t i = 0; i < listed_; ++i) {
      loads[i].calls = hosts_[i]->calls;
      loads[i].has_failed = Contains(route.failed, i);
    }
    number = ChooseHost(loads, turn_);
    turn_ = *number + 1;
  }
  route.host = number.value_or(0);
  Host& host = *hosts_[route.host];
  ++host.calls;
  return host.connections->Begin();
}

void Hosts::End(const ClientConnection& connection) {
  const MutexLock lock(mutex_);
  Host& host = *hosts_[connection.host];
  --host.calls;
  host.connections->End(connection);
}

void Hosts::Judge(const absl::Status& failure, absl::string_view name, Route& route) {
  route.next = NextHost::kSame;
  if (name.empty()) {
    route.failed.push_back(route.host);
    if (has_several_ && listed_ == 1) route.next = NextHost::kNamed;
    for (size_t i = 0; i < listed_; ++i) {
      if (Contains(route.failed, i) || StateOf(i) == HostState::kFailed) continue;
      route.next = NextHost::kOther;
    }
    // All have been asked: the next round begins.
    if (route.failed.size() >= listed_) route.failed.clear();
    return;
  }
  // It may also be about something else of the call, which has no host of its own to go to then.
  if (GetErrorReason(failure) != kWrongHost || GetErrorFact(failure, "host") != name) return;
  bool is_told = false;
  {
    const MutexLock lock(mutex_);
    Host& host = *hosts_[route.host];
    const auto told = host.names.find(name);
    // Somebody else at the same address called himself so.
    is_told = told != host.names.end();
    if (is_told) told->second = false;
  }
  if (is_told) GoStraightTo(std::string(name));
  const MutexLock lock(mutex_);
  const std::optional<size_t> right = Find(name);
  if (right && *right != route.host) route.next = NextHost::kRightOne;
}

void Hosts::Learn(size_t number, const std::string& name) {
  std::vector<std::string> apart = {name};
  {
    const MutexLock lock(mutex_);
    Host& host = *hosts_[number];
    if (!host.stands_for_several) {
      if (host.names.contains(name)) return;
      if (host.names.empty() || IsLocal(host.address)) {
        if (host.names.size() < kMostTold) host.names.emplace(name, true);
        return;
      }
      host.stands_for_several = true;
      for (const auto& [former, is_there] : host.names) apart.push_back(former);
    }
  }
  for (const std::string& each : apart) GoStraightTo(each);
}

void Hosts::GoStraightTo(const std::string& name) {
  while (true) {
    size_t number = 0;
    {
      const MutexLock lock(mutex_);
      number = hosts_.size();
      if (Find(name) || number >= listed_ + kMostTold) return;
    }
    // Without the lock, as gRPC may call back.
    std::unique_ptr<Host> made = MakeHost(name, number, /*is_among_several=*/false);
    if (made == nullptr) return;
    const MutexLock lock(mutex_);
    if (hosts_.size() != number) continue;  // another call was faster
    hosts_.push_back(std::move(made));
    return;
  }
}

std::optional<size_t> Hosts::Find(absl::string_view name) {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const Host& host = *hosts_[i];
    if (host.address == name) return i;
    const auto told = host.names.find(name);
    if (told != host.names.end() && told->second && !host.stands_for_several) return i;
  }
  return std::nullopt;
}

std::string Hosts::local() const {
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < listed_; ++i) {
    if (IsLocal(hosts_[i]->address) && !NamesAllHosts(hosts_[i]->address)) {
      return hosts_[i]->address;
    }
  }
  return {};
}

}  // namespace opserve::client_internal
