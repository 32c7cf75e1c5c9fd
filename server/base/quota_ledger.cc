#include "server/base/quota_ledger.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

#include "proto/base/mutex.h"

namespace opserve {

// What one holder has.
struct QuotaCharge::Account {
  uint64_t bytes = 0;
  size_t charges = 0;
  // Under which the account is found; lives as long as it.
  const std::string* holder = nullptr;
};

// Held by the ledger and by every charge.
class QuotaCharge::Books {
 public:
  explicit Books(const QuotaLedger::Limits& limits) : limits_(limits) {}

  std::optional<QuotaShortage> Take(absl::string_view holder, uint64_t bytes, Account*& account) {
    MutexLock lock(mutex_);
    const auto found = accounts_.find(holder);
    const uint64_t used = found == accounts_.end() ? 0 : found->second.bytes;
    if (auto shortage = ShortageLocked(used, bytes)) return shortage;
    const auto kept =
        found == accounts_.end() ? accounts_.try_emplace(std::string(holder)).first : found;
    kept->second.holder = &kept->first;
    account = &kept->second;
    Add(*account, bytes);
    return std::nullopt;
  }

  // The account has a charge, so it stays.
  std::optional<QuotaShortage> TakeMore(Account& account, uint64_t bytes) {
    MutexLock lock(mutex_);
    if (auto shortage = ShortageLocked(account.bytes, bytes)) return shortage;
    Add(account, bytes);
    return std::nullopt;
  }

  void GiveBack(Account& account, uint64_t bytes) {
    MutexLock lock(mutex_);
    used_ -= bytes;
    account.bytes -= bytes;
    if (--account.charges == 0) accounts_.erase(accounts_.find(*account.holder));
  }

  uint64_t UsedBy(absl::string_view holder) const {
    MutexLock lock(mutex_);
    const auto found = accounts_.find(holder);
    return found == accounts_.end() ? 0 : found->second.bytes;
  }

  uint64_t used() const {
    MutexLock lock(mutex_);
    return used_;
  }

  QuotaHoldings Largest(size_t count) const {
    QuotaHoldings holdings;
    MutexLock lock(mutex_);
    std::vector<const std::pair<const std::string, Account>*> all;
    for (const auto& account : accounts_) all.push_back(&account);
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

 private:
  // What is charged never exceeds a limit, so no difference is below zero.
  std::optional<QuotaShortage> ShortageLocked(uint64_t used, uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (bytes > limits_.per_holder - used) {
      return QuotaShortage{false, used, bytes, limits_.per_holder};
    }
    if (bytes > limits_.of_all - used_) return QuotaShortage{true, used_, bytes, limits_.of_all};
    return std::nullopt;
  }

  void Add(Account& account, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    used_ += bytes;
    account.bytes += bytes;
    ++account.charges;
  }

  const QuotaLedger::Limits limits_;
  mutable Mutex mutex_;
  // Ordered, because no insertion moves the accounts of others.
  std::map<std::string, Account, std::less<>> accounts_ ABSL_GUARDED_BY(mutex_);
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

QuotaTaking QuotaLedger::Take(absl::string_view holder, uint64_t bytes) {
  QuotaTaking taking;
  QuotaCharge::Account* account = nullptr;
  taking.shortage = books_->Take(holder, bytes, account);
  if (taking.shortage) return taking;
  taking.charge.books_ = books_;
  taking.charge.account_ = account;
  taking.charge.bytes_ = bytes;
  return taking;
}

uint64_t QuotaLedger::UsedBy(absl::string_view holder) const { return books_->UsedBy(holder); }

uint64_t QuotaLedger::used() const { return books_->used(); }

QuotaHoldings QuotaLedger::Largest(size_t count) const { return books_->Largest(count); }

}  // namespace opserve
