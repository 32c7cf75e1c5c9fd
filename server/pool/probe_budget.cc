#include "server/pool/probe_budget.h"

namespace opserve {
namespace {

constexpr int kSavedOf = 100;

}  // namespace

bool ProbeBudget::Spend(Clock::Duration expected, Clock::Duration loss) {
  // Rounded up, as some requests take less than a hundred units.
  const Clock::Duration::rep saving = (expected.count() + kSavedOf - 1) / kSavedOf;
  const Clock::Duration::rep saved = saved_.fetch_add(saving, std::memory_order_relaxed) + saving;
  if (saved < loss.count()) return false;
  // Of requests that find enough at once one has it.
  Clock::Duration::rep all = saved;
  return saved_.compare_exchange_strong(all, 0, std::memory_order_relaxed);
}

}  // namespace opserve
