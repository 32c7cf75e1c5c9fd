#include "server/base/quota_ledger.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

#include "proto/base/mutex.h"

namespace opserve {

// What the holders of a group have together.
struct QuotaCharge::GroupAccount {
  uint64_t bytes = 0;
  size_t charges = 0;
};

// What one holder has.
struct QuotaCharge::Account {
  uint64_t bytes = 0;
  size_t charges = 0;
  // Its group, by the name in the books, which lives as long as the account; nullptr: none.
  std::pair<const std::string, GroupAccount>* group = nullptr;
  // The limit of the group, as it was last told; nullopt: none.
  std::optional<uint64_t> group_limit;
  // Under which the account is found; lives as long as it.
  const std::string* holder = nullptr;
};

// Held by the ledger and by every charge.
class QuotaCharge::Books {
 public:
  explicit Books(const QuotaLedger::Limits& limits) : limits_(limits) {}

  std::optional<QuotaShortage> Take(absl::string_view holder, uint64_t bytes,
                                    const QuotaGroup& group, Account*& account) {
    MutexLock lock(mutex_);
    const auto found = accounts_.find(holder);
    const auto found_group = groups_.find(group.name);
    if (found != accounts_.end()) found->second.group_limit = group.limit;
    const uint64_t used = found == accounts_.end() ? 0 : found->second.bytes;
    const uint64_t group_used = found_group == groups_.end() ? 0 : found_group->second.bytes;
    if (auto shortage = ShortageLocked(used, group_used, group.limit, bytes)) return shortage;
    if (found == accounts_.end()) {
      account = &accounts_.try_emplace(std::string(holder)).first->second;
      account->holder = &accounts_.find(holder)->first;
      account->group_limit = group.limit;
      if (!group.name.empty())
        account->group = &*groups_.try_emplace(std::string(group.name)).first;
    } else {
      account = &found->second;
    }
    Add(*account, bytes);
    return std::nullopt;
  }

  // The account has a charge, so it stays.
  std::optional<QuotaShortage> TakeMore(Account& account, uint64_t bytes) {
    MutexLock lock(mutex_);
    const uint64_t group_used = account.group == nullptr ? 0 : account.group->second.bytes;
    if (auto shortage = ShortageLocked(account.bytes, group_used, account.group_limit, bytes)) {
      return shortage;
    }
    Add(account, bytes);
    return std::nullopt;
  }

  void GiveBack(Account& account, uint64_t bytes) {
    MutexLock lock(mutex_);
    used_ -= bytes;
    account.bytes -= bytes;
    if (account.group != nullptr) {
      GroupAccount& group = account.group->second;
      group.bytes -= bytes;
      if (--group.charges == 0) groups_.erase(groups_.find(account.group->first));
    }
    if (--account.charges == 0) accounts_.erase(accounts_.find(*account.holder));
  }

  uint64_t UsedBy(absl::string_view holder) const {
    MutexLock lock(mutex_);
    const auto found = accounts_.find(holder);
    return found == accounts_.end() ? 0 : found->second.bytes;
  }

  uint64_t UsedByGroup(absl::string_view group) const {
    MutexLock lock(mutex_);
    const auto found = groups_.find(group);
    return found == groups_.end() ? 0 : found->second.bytes;
  }

  uint64_t used() const {
    MutexLock lock(mutex_);
    return used_;
  }

  QuotaHoldings Largest(size_t count) const {
    MutexLock lock(mutex_);
    return LargestOf(accounts_, count);
  }

  QuotaHoldings LargestGroups(size_t count) const {
    MutexLock lock(mutex_);
    return LargestOf(groups_, count);
  }

 private:
  // Of the accounts of holders, or of those of groups.
  template <class Accounts>
  QuotaHoldings LargestOf(const Accounts& accounts, size_t count) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    QuotaHoldings holdings;
    std::vector<const typename Accounts::value_type*> all;
    for (const auto& account : accounts) all.push_back(&account);
    const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(count, all.size()));
    std::partial_sort(all.begin(), end, all.end(), [](const auto* a, const auto* b) {
      return a->second.bytes > b->second.bytes;
    });
    holdings.others = used_;
    for (auto account = all.begin(); account != end; ++account) {
      holdings.largest.emplace_back((*account)->first, (*account)->second.bytes);
      holdings.others -= (*account)->second.bytes;
    }
    return holdings;
  }

  // What is charged to a holder or a group may be more than a limit that came later.
  std::optional<QuotaShortage> ShortageLocked(uint64_t used, uint64_t group_used,
                                              std::optional<uint64_t> group_limit,
                                              uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint64_t own_used = group_limit ? group_used : used;
    const uint64_t own_limit = group_limit.value_or(limits_.per_holder);
    if (bytes > own_limit - std::min(own_limit, own_used)) {
      return QuotaShortage{false, own_used, bytes, own_limit};
    }
    if (bytes > limits_.of_all - used_) return QuotaShortage{true, used_, bytes, limits_.of_all};
    return std::nullopt;
  }

  void Add(Account& account, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    used_ += bytes;
    account.bytes += bytes;
    ++account.charges;
    if (account.group == nullptr) return;
    account.group->second.bytes += bytes;
    ++account.group->second.charges;
  }

  const QuotaLedger::Limits limits_;
  mutable Mutex mutex_;
  // Ordered, because no insertion moves the accounts of others.
  std::map<std::string, Account, std::less<>> accounts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, GroupAccount, std::less<>> groups_ ABSL_GUARDED_BY(mutex_);
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

QuotaCharge::~QuotaCharge() {
  if (books_ != nullptr) books_->GiveBack(*account_, bytes_);
}

QuotaTaking QuotaCharge::TakeSame() const {
  QuotaTaking taking;
  taking.shortage = books_->TakeMore(*account_, bytes_);
  if (taking.shortage) return taking;
  taking.charge.books_ = books_;
  taking.charge.account_ = account_;
  taking.charge.bytes_ = bytes_;
  return taking;
}

QuotaLedger::QuotaLedger(const Limits& limits)
    : books_(std::make_shared<QuotaCharge::Books>(limits)) {}

QuotaTaking QuotaLedger::Take(absl::string_view holder, uint64_t bytes, const QuotaGroup& group) {
  QuotaTaking taking;
  QuotaCharge::Account* account = nullptr;
  taking.shortage = books_->Take(holder, bytes, group, account);
  if (taking.shortage) return taking;
  taking.charge.books_ = books_;
  taking.charge.account_ = account;
  taking.charge.bytes_ = bytes;
  return taking;
}

uint64_t QuotaLedger::UsedBy(absl::string_view holder) const { return books_->UsedBy(holder); }

uint64_t QuotaLedger::UsedByGroup(absl::string_view group) const {
  return books_->UsedByGroup(group);
}

uint64_t QuotaLedger::used() const { return books_->used(); }

QuotaHoldings QuotaLedger::Largest(size_t count) const { return books_->Largest(count); }

QuotaHoldings QuotaLedger::LargestGroups(size_t count) const {
  return books_->LargestGroups(count);
}

}  // namespace opserve
