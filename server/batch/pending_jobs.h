// File: server/batch/pending_jobs.h
//
// The jobs of a BatchQueue and the order in which they are to go: by priority, then fairly between
// identities, then between the names of each, then by age. No thread, lock or clock.

#ifndef OPSERVE_SERVER_BATCH_PENDING_JOBS_H_
#define OPSERVE_SERVER_BATCH_PENDING_JOBS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "server/base/clock.h"
#include "server/base/fair_clients.h"
#include "server/batch/batch_policy.h"
#include "server/batch/job.h"
#include "server/device/lane_key.h"

namespace opserve {

// Not thread-safe, but for size and bytes. Owns no job. Its memory is bounded by the jobs that it
// holds: lanes without any are forgotten, and so are clients, but for few of which it matters how
// far they are: see server/base/fair_clients.h. All but Select, SelectFirst, RemoveExpired and
// RemoveAll cost O(log jobs) per job.
class PendingJobs {
  struct Entry;
  // Jobs by their numbers, which ascend with arrival.
  using ByAge = std::map<uint64_t, Entry*>;

  struct Flow;

  // When it is the turn of a flow within its identity; the least goes first.
  struct FlowTurn {
    double virtual_time;
    uint64_t number;  // of its oldest job
    Flow* flow;
    // No two jobs have the same number, so the flow does not matter.
    bool operator<(const FlowTurn& other) const {
      return std::tie(virtual_time, number) < std::tie(other.virtual_time, other.number);
    }
  };

  struct Identity;

  // The jobs of one client: of a name within an identity.
  struct Flow {
    bool is_waiting() const { return !jobs.empty(); }

    Identity* identity = nullptr;
    double weight = 1;
    double virtual_time = 0;
    ByAge jobs;
  };

  // All that an identity has in one class of priority. Classes have virtual times of their own:
  // what an identity gets in one class delays nobody in another.
  struct Identity {
    bool is_waiting() const { return !turns.empty(); }

    Priority priority = Priority::kNormal;
    double weight = 1;
    double virtual_time = 0;
    // By the name that the client gives itself. None while it has no job.
    FairClients<Flow> flows;
    std::set<FlowTurn> turns;
  };

 public:
  // Jobs that may share a batch.
  struct Lane {
    LaneKey key;
    absl::flat_hash_map<Flow*, ByAge> flows;
  };

  // Jobs of one lane in the order in which they are to go. Valid until the next change.
  struct Selection {
    const Lane* lane = nullptr;
    // The class of the first.
    Priority priority = Priority::kNormal;
    // For DecideBatch.
    std::vector<BatchCandidate> candidates;
    std::vector<Entry*> entries;
  };

  // `limits` must outlive the object.
  explicit PendingJobs(const BatchLimits& limits) : limits_(limits) {}
  PendingJobs(const PendingJobs&) = delete;
  PendingJobs& operator=(const PendingJobs&) = delete;

  // May be called by any thread at any time.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  bool empty() const { return entries_.empty(); }
  // Bytes of the inputs and outputs of all jobs. May be called by any thread at any time.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // kNever: no job has one.
  Clock::TimePoint earliest_deadline() const;

  // Adds a job that is not in here.
  void Add(Job& job, Clock::TimePoint now);

  // Removes the job, without a charge to its client. Returns whether it was in here.
  bool Remove(const Job& job);
  // The same for all whose deadline has come, earliest first, which are added to `removed`.
  // O(log jobs) for each of them. Throws, before anything is removed, where `removed` has no room
  // for them and gets none.
  void RemoveExpired(Clock::TimePoint now, std::vector<Job*>& removed);
  // The same for all jobs, in the order of arrival.
  void RemoveAll(std::vector<Job*>& removed);

  // The job whose turn it is, and those of its lane that are to go with it: as many as a batch may
  // hold, and the one too many if it is bytes that end the batch. There must be a job.
  // O(log jobs) if a batch holds one request.
  Selection SelectFirst() const;
  // The same for the jobs of one lane. O((clients in the lane + selected) * log(clients)).
  Selection Select(const Lane& lane) const;
  // All lanes that have jobs, the one that has had some for longest first.
  const std::list<Lane>& lanes() const { return lanes_; }

  // Removes the first `count` jobs of `selection` and charges their clients.
  std::vector<Job*> Take(const Selection& selection, size_t count);

 private:
  struct Entry {
    Job* job;
    uint64_t number;
    Clock::TimePoint queued;
    Flow* flow;
    std::list<Lane>::iterator lane;
  };

  // When it is an identity's turn; the least goes first.
  struct Turn {
    Priority priority;
    double virtual_time;
    uint64_t number;  // of the oldest job of the flow whose turn it is
    Identity* identity;
    // No two jobs have the same number, so the identity does not matter.
    bool operator<(const Turn& other) const {
      return std::tie(priority, virtual_time, number) <
             std::tie(other.priority, other.virtual_time, other.number);
    }
  };
  // There must be a job.
  static Turn TurnOf(Identity& identity);
  static FlowTurn TurnOf(Flow& flow);

  // A flow while jobs are selected.
  struct Head {
    FlowTurn turn;
    ByAge::const_iterator next;
    ByAge::const_iterator end;
    // For a heap with the least turn on top.
    bool operator<(const Head& other) const { return other.turn < turn; }
  };

  // An identity while jobs are selected: a heap of its flows.
  struct IdentityHead {
    Turn turn;
    std::vector<Head> flows;
    bool operator<(const IdentityHead& other) const { return other.turn < turn; }
  };
  // The identities that have jobs in the lane, as a heap.
  static std::vector<IdentityHead> HeadsOf(const Lane& lane);

  // How far the job moves virtual times where the weight is 1.
  static double CostOf(const Entry& entry);
  static void Append(Entry& entry, Selection& selection);

  // The flow of the job, perhaps a new one.
  Flow& FlowOf(const JobTraits& traits);
  std::list<Lane>::iterator LaneOf(const LaneKey& key);
  Identity& IdentityOf(const JobTraits& traits);
  // The weight that is set for the client; `other` where there is none.
  double WeightOf(const std::string& client, double other) const;
  // The identity of the class whose turn it is; nullptr: none waits.
  const Identity* NextOf(Priority priority) const;

  // Charges what `cost` is to the flow and its identity.
  void Remove(Entry& entry, double cost);
  void RemoveFromLane(const Entry& entry);
  // Makes that known to all threads.
  void Show(size_t size, uint64_t bytes);

  const BatchLimits& limits_;
  uint64_t next_number_ = 0;
  // How many `entries_` there are, and the bytes of them all.
  std::atomic<size_t> size_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  absl::node_hash_map<const Job*, Entry> entries_;
  // By what is proven, for each priority.
  std::array<FairClients<Identity>, kPriorityCount> identities_;
  std::set<Turn> turns_;  // of all identities
  std::list<Lane> lanes_;
  absl::flat_hash_map<LaneKey, std::list<Lane>::iterator> lanes_by_key_;
  // Jobs that have a deadline, by it and by age.
  std::map<std::pair<Clock::TimePoint, uint64_t>, Entry*> deadlines_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BATCH_PENDING_JOBS_H_
