#include "server/batch/pending_jobs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// What a request costs a device beside its bytes, in bytes.
constexpr double kJobCost = 16 * 1024;

}  // namespace

PendingJobs::FlowTurn PendingJobs::TurnOf(Flow& flow) {
  return {flow.virtual_time, flow.jobs.begin()->first, &flow};
}

PendingJobs::Turn PendingJobs::TurnOf(Identity& identity) {
  return {identity.priority, identity.virtual_time, identity.turns.begin()->number, &identity};
}

double PendingJobs::CostOf(const Entry& entry) {
  return static_cast<double>(entry.job->traits().bytes) + kJobCost;
}

void PendingJobs::Append(Entry& entry, Selection& selection) {
  const JobTraits& traits = entry.job->traits();
  selection.candidates.push_back({traits.bytes, entry.queued, traits.deadline});
  selection.entries.push_back(&entry);
}

Clock::TimePoint PendingJobs::earliest_deadline() const {
  return deadlines_.empty() ? Clock::kNever : deadlines_.begin()->first.first;
}

const PendingJobs::Identity* PendingJobs::NextOf(Priority priority) const {
  const Turn first_possible = {priority, -std::numeric_limits<double>::infinity(), 0, nullptr};
  const auto first = turns_.lower_bound(first_possible);
  return first != turns_.end() && first->priority == priority ? first->identity : nullptr;
}

double PendingJobs::WeightOf(const std::string& client, double other) const {
  const auto weight = limits_.client_weights.find(client);
  return weight == limits_.client_weights.end() ? other : weight->second;
}

PendingJobs::Identity& PendingJobs::IdentityOf(const JobTraits& traits) {
  const Identity* const next = NextOf(traits.priority);
  Identity& identity = identities_[static_cast<size_t>(traits.priority)].Find(
      traits.client, next == nullptr ? 0 : next->virtual_time);
  // That of the latest job: policies change, also while an identity always has one that waits.
  identity.weight = WeightOf(traits.client, traits.weight);
  // What waits is of the same class.
  identity.priority = traits.priority;
  return identity;
}

PendingJobs::Flow& PendingJobs::FlowOf(const JobTraits& traits) {
  Identity& identity = IdentityOf(traits);
  Flow& flow = identity.flows.Find(
      traits.name, identity.is_waiting() ? identity.turns.begin()->virtual_time : 0);
  if (flow.is_waiting()) return flow;
  flow.identity = &identity;
  if (!traits.name.empty() && !limits_.client_weights.empty()) {
    flow.weight = WeightOf(absl::StrCat(traits.client, "/", traits.name), 1);
  }
  return flow;
}

std::list<PendingJobs::Lane>::iterator PendingJobs::LaneOf(const LaneKey& key) {
  const auto [found, is_new] = lanes_by_key_.try_emplace(key);
  if (is_new) found->second = lanes_.insert(lanes_.end(), Lane{key, {}});
  return found->second;
}

void PendingJobs::Add(Job& job, Clock::TimePoint now) {
  const JobTraits& traits = job.traits();
  Flow& flow = FlowOf(traits);
  const auto lane = LaneOf(traits.lane);
  const uint64_t number = next_number_++;
  Entry& entry = entries_.try_emplace(&job, Entry{&job, number, now, &flow, lane}).first->second;
  flow.jobs.emplace_hint(flow.jobs.end(), number, &entry);
  ByAge& lane_jobs = lane->flows[&flow];
  lane_jobs.emplace_hint(lane_jobs.end(), number, &entry);
  // A later job of a flow does not change whose turn it is.
  if (flow.jobs.size() == 1) {
    Identity& identity = *flow.identity;
    if (identity.is_waiting()) turns_.erase(TurnOf(identity));
    identity.turns.insert(TurnOf(flow));
    turns_.insert(TurnOf(identity));
  }
  if (traits.deadline != Clock::kNever) deadlines_.try_emplace({traits.deadline, number}, &entry);
  Show(entries_.size(), bytes() + traits.bytes);
}

void PendingJobs::RemoveFromLane(const Entry& entry) {
  Lane& lane = *entry.lane;
  const auto flow = lane.flows.find(entry.flow);
  flow->second.erase(entry.number);
  if (!flow->second.empty()) return;
  lane.flows.erase(flow);
  if (!lane.flows.empty()) return;
  lanes_by_key_.erase(lane.key);
  lanes_.erase(entry.lane);
}

void PendingJobs::Remove(Entry& entry, double cost) {
  const Job* job = entry.job;
  const JobTraits& traits = job->traits();
  Flow& flow = *entry.flow;
  Identity& identity = *flow.identity;
  RemoveFromLane(entry);
  deadlines_.erase({traits.deadline, entry.number});
  // Nodes are used again: this must not need memory.
  auto turn = turns_.extract(TurnOf(identity));
  auto flow_turn = identity.turns.extract(TurnOf(flow));
  flow.jobs.erase(entry.number);
  identity.virtual_time += cost / identity.weight;
  flow.virtual_time += cost / flow.weight;
  if (flow.is_waiting()) {
    flow_turn.value() = TurnOf(flow);
    identity.turns.insert(std::move(flow_turn));
  }
  if (identity.is_waiting()) {
    turn.value() = TurnOf(identity);
    turns_.insert(std::move(turn));
  } else {
    identity.flows.Clear();
    if (NextOf(traits.priority) == nullptr) {
      identities_[static_cast<size_t>(traits.priority)].Clear();
    }
  }
  entries_.erase(job);
  Show(entries_.size(), bytes() - traits.bytes);
}

void PendingJobs::Show(size_t size, uint64_t bytes) {
  // One thread at a time changes them, so nothing needs to be added in one step.
  size_.store(size, std::memory_order_relaxed);
  bytes_.store(bytes, std::memory_order_relaxed);
}

bool PendingJobs::Remove(const Job& job) {
  const auto found = entries_.find(&job);
  if (found == entries_.end()) return false;
  Remove(found->second, 0);
  return true;
}

void PendingJobs::RemoveExpired(Clock::TimePoint now, std::vector<Job*>& removed) {
  const auto due = deadlines_.upper_bound({now, std::numeric_limits<uint64_t>::max()});
  removed.reserve(removed.size() + std::distance(deadlines_.begin(), due));
  while (earliest_deadline() <= now) {
    Entry& entry = *deadlines_.begin()->second;
    removed.push_back(entry.job);
    Remove(entry, 0);
  }
}

void PendingJobs::RemoveAll(std::vector<Job*>& removed) {
  const size_t before = removed.size();
  removed.reserve(before + entries_.size());
  for (const auto& [job, entry] : entries_) removed.push_back(entry.job);
  const std::span<Job*> all = std::span(removed).subspan(before);
  std::sort(all.begin(), all.end(), [this](const Job* a, const Job* b) {
    return entries_.find(a)->second.number < entries_.find(b)->second.number;
  });
  for (const Job* const job : all) Remove(*job);
}

PendingJobs::Selection PendingJobs::SelectFirst() const {
  const Identity& identity = *turns_.begin()->identity;
  Entry& first = *identity.turns.begin()->flow->jobs.begin()->second;
  if (limits_.max_requests > 1) return Select(*first.lane);
  // Spares a look at all clients of the lane.
  Selection selection = {&*first.lane, identity.priority, {}, {}};
  Append(first, selection);
  return selection;
}

std::vector<PendingJobs::IdentityHead> PendingJobs::HeadsOf(const Lane& lane) {
  std::vector<Head> all;
  all.reserve(lane.flows.size());
  for (const auto& [flow, jobs] : lane.flows) {
    const FlowTurn turn = {flow->virtual_time, jobs.begin()->first, flow};
    all.push_back({turn, jobs.begin(), jobs.end()});
  }
  // Not by a hash table: those of Abseil do not survive that there is no memory.
  const auto identity_of = [](const Head& head) { return head.turn.flow->identity; };
  std::ranges::sort(all, std::less<>(), identity_of);
  std::vector<IdentityHead> heads;
  for (auto first = all.begin(); first != all.end();) {
    Identity* const identity = identity_of(*first);
    const auto end =
        std::ranges::upper_bound(first, all.end(), identity, std::less<>(), identity_of);
    std::vector<Head> flows(first, end);
    std::make_heap(flows.begin(), flows.end());
    const Turn turn = {identity->priority, identity->virtual_time, flows.front().turn.number,
                       identity};
    heads.push_back({turn, std::move(flows)});
    first = end;
  }
  std::make_heap(heads.begin(), heads.end());
  return heads;
}

PendingJobs::Selection PendingJobs::Select(const Lane& lane) const {
  std::vector<IdentityHead> heads = HeadsOf(lane);
  Selection selection = {&lane, heads.front().turn.priority, {}, {}};
  uint64_t bytes = 0;
  while (!heads.empty() && selection.entries.size() < limits_.max_requests &&
         bytes <= limits_.max_bytes) {
    std::pop_heap(heads.begin(), heads.end());
    IdentityHead& identity = heads.back();
    std::pop_heap(identity.flows.begin(), identity.flows.end());
    Head& head = identity.flows.back();
    Entry& entry = *head.next->second;
    Append(entry, selection);
    bytes += entry.job->traits().bytes;
    if (++head.next == head.end) {
      identity.flows.pop_back();
    } else {
      head.turn.virtual_time += CostOf(entry) / entry.flow->weight;
      head.turn.number = head.next->first;
      std::push_heap(identity.flows.begin(), identity.flows.end());
    }
    if (identity.flows.empty()) {
      heads.pop_back();
      continue;
    }
    identity.turn.virtual_time += CostOf(entry) / identity.turn.identity->weight;
    identity.turn.number = identity.flows.front().turn.number;
    std::push_heap(heads.begin(), heads.end());
  }
  return selection;
}

std::vector<Job*> PendingJobs::Take(const Selection& selection, size_t count) {
  std::vector<Job*> jobs;
  jobs.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Entry& entry = *selection.entries[i];
    jobs.push_back(entry.job);
    Remove(entry, CostOf(entry));
  }
  return jobs;
}

}  // namespace opserve
