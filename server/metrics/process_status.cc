#include "server/metrics/process_status.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace opserve {
namespace {

// Fields of /proc/self/stat after the name of the program, as proc(5) numbers them.
constexpr size_t kThreadsField = 20;
constexpr size_t kStartField = 22;
constexpr size_t kFirstField = 3;

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

uint64_t CountFds() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  uint64_t count = 0;
  // One thread reads one stream of a folder. NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* const entry = readdir(folder)) count += entry->d_name[0] == '.' ? 0 : 1;
  closedir(folder);
  // The folder itself was one of them.
  return count - 1;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

uint64_t NumberAt(const std::vector<std::string>& fields, size_t index) {
  uint64_t number = 0;
  if (index >= fields.size() || !absl::SimpleAtoi(fields[index], &number)) return 0;
  return number;
}

// When the machine started, in seconds since 1970.
double BootTime() {
  timespec wall = {};
  timespec since_boot = {};
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return static_cast<double>(wall.tv_sec - since_boot.tv_sec) +
         static_cast<double>(wall.tv_nsec - since_boot.tv_nsec) / 1e9;
}

}  // namespace

ProcessStatus ReadProcessStatus() {
  ProcessStatus status;
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    status.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) status.max_fds = limit.rlim_cur;
  const std::vector<std::string> pages = absl::StrSplit(ReadFile("/proc/self/statm"), ' ');
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  status.virtual_bytes = NumberAt(pages, 0) * page_bytes;
  status.resident_bytes = NumberAt(pages, 1) * page_bytes;
  const std::string stat = ReadFile("/proc/self/stat");
  // The name is in parentheses, and may have any characters.
  const size_t name_end = stat.rfind(") ");
  if (name_end != std::string::npos) {
    const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 2), ' ');
    status.threads = NumberAt(fields, kThreadsField - kFirstField);
    const uint64_t ticks = NumberAt(fields, kStartField - kFirstField);
    status.start_time =
        BootTime() + static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  status.open_fds = CountFds();
  return status;
}

}  // namespace opserve
