#include "server/batch/pending_jobs.h"

#include <algorithm>
#include <limits>

namespace opserve {
namespace {

// What a request costs a device beside its bytes, in bytes.
constexpr double kJobCost = 16 * 1024;

}  // namespace

PendingJobs::Turn PendingJobs::TurnOf(Flow& flow) {
  return {flow.priority, flow.virtual_time, flow.jobs.begin()->first, &flow};
}

double PendingJobs::ChargeOf(const Entry& entry) {
  return (static_cast<double>(entry.job->traits().bytes) + kJobCost) / entry.flow->weight;
}

void PendingJobs::Append(Entry& entry, Selection& selection) {
  const JobTraits& traits = entry.job->traits();
  selection.candidates.push_back({traits.bytes, entry.queued, traits.deadline});
  selection.entries.push_back(&entry);
}

Clock::TimePoint PendingJobs::earliest_deadline() const {
  return deadlines_.empty() ? Clock::kNever : deadlines_.begin()->first.first;
}

double PendingJobs::PresentVirtualTime(Priority priority) const {
  const Turn first_possible = {priority, -std::numeric_limits<double>::infinity(), 0, nullptr};
  const auto first = turns_.lower_bound(first_possible);
  return first != turns_.end() && first->priority == priority ? first->virtual_time : 0;
}

PendingJobs::Flow& PendingJobs::FlowOf(const JobTraits& traits) {
  auto& flows = flows_[static_cast<size_t>(traits.priority)];
  const auto [found, is_new] = flows.try_emplace(traits.client);
  Flow& flow = found->second;
  if (is_new) {
    const auto weight = limits_.client_weights.find(traits.client);
    flow.priority = traits.priority;
    flow.weight = weight == limits_.client_weights.end() ? 1 : weight->second;
    flow.virtual_time = PresentVirtualTime(traits.priority);
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
  // A later job does not change whose turn it is.
  if (flow.jobs.size() == 1) turns_.insert(TurnOf(flow));
  if (traits.deadline != Clock::kNever) deadlines_.try_emplace({traits.deadline, number}, &entry);
  bytes_ += traits.bytes;
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

void PendingJobs::Remove(Entry& entry, double charge) {
  const Job* job = entry.job;
  const JobTraits& traits = job->traits();
  Flow& flow = *entry.flow;
  RemoveFromLane(entry);
  deadlines_.erase({traits.deadline, entry.number});
  bytes_ -= traits.bytes;
  auto turn = turns_.extract(TurnOf(flow));
  flow.jobs.erase(entry.number);
  if (flow.jobs.empty()) {
    flows_[static_cast<size_t>(traits.priority)].erase(traits.client);
  } else {
    flow.virtual_time += charge;
    turn.value() = TurnOf(flow);
    turns_.insert(std::move(turn));
  }
  entries_.erase(job);
}

bool PendingJobs::Remove(const Job& job) {
  const auto found = entries_.find(&job);
  if (found == entries_.end()) return false;
  Remove(found->second, 0);
  return true;
}

std::vector<Job*> PendingJobs::RemoveExpired(Clock::TimePoint now) {
  std::vector<Job*> expired;
  while (earliest_deadline() <= now) {
    Entry& entry = *deadlines_.begin()->second;
    expired.push_back(entry.job);
    Remove(entry, 0);
  }
  return expired;
}

std::vector<Job*> PendingJobs::RemoveAll() {
  ByAge all;
  for (auto& [job, entry] : entries_) all.emplace(entry.number, &entry);
  std::vector<Job*> jobs;
  jobs.reserve(all.size());
  for (const auto& [number, entry] : all) {
    jobs.push_back(entry->job);
    Remove(*entry, 0);
  }
  return jobs;
}

PendingJobs::Selection PendingJobs::SelectFirst() const {
  Entry& first = *turns_.begin()->flow->jobs.begin()->second;
  if (limits_.max_requests > 1) return Select(*first.lane);
  // Spares a look at all clients of the lane.
  Selection selection = {&*first.lane, first.flow->priority, {}, {}};
  Append(first, selection);
  return selection;
}

PendingJobs::Selection PendingJobs::Select(const Lane& lane) const {
  std::vector<Head> heads;
  heads.reserve(lane.flows.size());
  for (const auto& [flow, jobs] : lane.flows) {
    const Turn turn = {flow->priority, flow->virtual_time, jobs.begin()->first, flow};
    heads.push_back({turn, jobs.begin(), jobs.end()});
  }
  std::make_heap(heads.begin(), heads.end());
  Selection selection = {&lane, heads.front().turn.priority, {}, {}};
  uint64_t bytes = 0;
  while (!heads.empty() && selection.entries.size() < limits_.max_requests &&
         bytes <= limits_.max_bytes) {
    std::pop_heap(heads.begin(), heads.end());
    Head& head = heads.back();
    Entry& entry = *head.next->second;
    Append(entry, selection);
    bytes += entry.job->traits().bytes;
    if (++head.next == head.end) {
      heads.pop_back();
      continue;
    }
    head.turn.virtual_time += ChargeOf(entry);
    head.turn.number = head.next->first;
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
    Remove(entry, ChargeOf(entry));
  }
  return jobs;
}

}  // namespace opserve
