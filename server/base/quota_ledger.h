// File: server/base/quota_ledger.h
//
// Who holds how many bytes of something that is limited for each holder and for all together.

#ifndef OPSERVE_SERVER_BASE_QUOTA_LEDGER_H_
#define OPSERVE_SERVER_BASE_QUOTA_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace opserve {

// Why there was no charge to be had.
struct QuotaShortage {
  // Whether the limit of all holders is what stands in the way, and not that of the one.
  bool is_of_all = false;
  // Bytes that are charged, asked for, and allowed: of the holder, or of all.
  uint64_t used = 0;
  uint64_t asked = 0;
  uint64_t limit = 0;
};

struct QuotaTaking;

// Who holds most.
struct QuotaHoldings {
  // Holders, or groups, and their bytes, the largest first.
  std::vector<std::pair<std::string, uint64_t>> largest;
  // Bytes of all others together.
  uint64_t others = 0;
};

// Bytes that count against a quota while the object lives, or none. May outlive the ledger, and may
// be destroyed on any thread; else not thread-safe, but for the functions that are const.
class QuotaCharge {
 public:
  QuotaCharge() = default;
  QuotaCharge(QuotaCharge&& other) noexcept { *this = std::move(other); }
  QuotaCharge& operator=(QuotaCharge&& other) noexcept {
    std::swap(books_, other.books_);
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~QuotaCharge();

  // Whether it was taken from a ledger.
  bool is_set() const { return books_ != nullptr; }
  uint64_t bytes() const { return bytes_; }

  // As many bytes again, of the same holder. The charge must be set.
  QuotaTaking TakeSame() const;

 private:
  friend class QuotaLedger;
  class Books;
  struct Account;
  struct GroupAccount;

  std::shared_ptr<Books> books_;
  // In the books, and there while any charge of the holder is.
  Account* account_ = nullptr;
  uint64_t bytes_ = 0;
};

// Holders that may have a limit together. A holder is always of the same group.
struct QuotaGroup {
  // Empty: no group, and no limit.
  absl::string_view name = {};
  // Most bytes of all its holders together, in place of the ledger's limit of each; nullopt: each
  // has that one.
  std::optional<uint64_t> limit = std::nullopt;
};

// What came of asking for a charge.
struct QuotaTaking {
  // Set unless there was a shortage.
  QuotaCharge charge;
  std::optional<QuotaShortage> shortage;
};

// Thread-safe. Holders are forgotten with their last charge, so that what the ledger itself takes
// is bounded by the number of charges.
class QuotaLedger {
 public:
  struct Limits {
    uint64_t per_holder = 0;
    uint64_t of_all = 0;
  };

  explicit QuotaLedger(const Limits& limits);

  // Charges `bytes` to `holder`, or nothing where a limit would be exceeded. The limit of the group
  // also holds for what TakeSame takes from then on.
  QuotaTaking Take(absl::string_view holder, uint64_t bytes, const QuotaGroup& group = {});

  // Bytes that are charged: to `holder`, to all holders of `group`, and to all.
  uint64_t UsedBy(absl::string_view holder) const;
  uint64_t UsedByGroup(absl::string_view group) const;
  uint64_t used() const;

  // The `count` holders that have most, all as of one moment. Looks at every holder.
  QuotaHoldings Largest(size_t count) const;
  // The same of groups; holders without one are among the others.
  QuotaHoldings LargestGroups(size_t count) const;

 private:
  const std::shared_ptr<QuotaCharge::Books> books_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_QUOTA_LEDGER_H_
