#include "server/d3d12/host_copier.h"

#include <algorithm>
#include <system_error>

#include "proto/base/named_thread.h"
#include "server/d3d12/streamed_copy.h"

namespace opserve::d3d12 {
namespace {

// What a thread copies at a time.
constexpr uint64_t kChunkBytes = uint64_t{256} << 10;
// Shorter copies are those of batches of small calls, whose results somebody reads at once.
constexpr uint64_t kLeastStreamed = uint64_t{16} << 10;

void CopyChunk(const HostCopy& chunk) {
  if (chunk.bytes < kLeastStreamed) return CopyAll({&chunk, 1});
  StreamedCopy(chunk.to, chunk.from, chunk.bytes);
}

HostCopies ChunksOf(std::span<const HostCopy> copies) {
  HostCopies chunks;
  for (const HostCopy& copy : copies) {
    for (uint64_t done = 0; done < copy.bytes; done += kChunkBytes) {
      chunks.push_back(
          {copy.to + done, copy.from + done, std::min(kChunkBytes, copy.bytes - done)});
    }
  }
  return chunks;
}

}  // namespace

size_t CopyThreadsFor(size_t processors) {
  return std::clamp<size_t>(processors / 2, 1, kMostCopyThreads);
}

void HostCopier::Job::Work() {
  for (size_t chunk = next++; chunk < chunks.size(); chunk = next++) CopyChunk(chunks[chunk]);
}

HostCopier::~HostCopier() {
  std::vector<std::thread> helpers;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    helpers.swap(helpers_);
  }
  has_work_.NotifyAll();
  for (std::thread& helper : helpers) helper.join();
}

void HostCopier::StartHelpers() {
  while (helpers_.size() < helper_count_) {
    try {
      helpers_.push_back(StartThread("gpu-copy", [this] { Help(); }));
    } catch (const std::system_error&) {
      return;  // the system has no thread left; those that are there do it
    }
  }
}

HostCopier::Job* HostCopier::Join() {
  MutexLock lock(mutex_);
  while (!is_over_) {
    const auto job =
        std::find_if(jobs_.begin(), jobs_.end(), [](const Job* each) { return !each->is_taken(); });
    if (job != jobs_.end()) {
      ++(*job)->helpers;
      return *job;
    }
    has_work_.Wait(mutex_);
  }
  return nullptr;
}

void HostCopier::Leave(Job& job) {
  MutexLock lock(mutex_);
  if (--job.helpers == 0) has_left_.NotifyAll();
}

void HostCopier::Help() {
  while (Job* const job = Join()) {
    job->Work();
    Leave(*job);
  }
}

void HostCopier::Run(std::span<const HostCopy> copies) {
  uint64_t bytes = 0;
  for (const HostCopy& copy : copies) bytes += copy.bytes;
  if (bytes < kLeastShared) return CopyAll(copies);
  Job job{ChunksOf(copies)};
  if (helper_count_ == 0) return job.Work();
  {
    MutexLock lock(mutex_);
    StartHelpers();
    jobs_.push_back(&job);
  }
  has_work_.NotifyAll();
  job.Work();
  MutexLock lock(mutex_);
  std::erase(jobs_, &job);
  while (job.helpers > 0) has_left_.Wait(mutex_);
}

}  // namespace opserve::d3d12
