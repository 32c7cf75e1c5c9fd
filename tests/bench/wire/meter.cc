#include "tests/bench/wire/meter.h"

#include <time.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace opserve::wire_bench {
namespace {

double CpuSeconds(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// From now on, the peak of a process is what it has now.
void ForgetPeak(pid_t process) {
  std::ofstream(absl::StrCat("/proc/", process, "/clear_refs")) << "5";
}

// A line of /proc/PID/status that counts kibibytes.
uint64_t StatusBytes(pid_t process, const std::string& key) {
  std::ifstream status(absl::StrCat("/proc/", process, "/status"));
  std::string word;
  while (status >> word) {
    uint64_t kib = 0;
    if (word == key && status >> kib) return kib * 1024;
  }
  return 0;
}

// Minor page faults so far of all threads of a process, such as the first touch of fresh memory.
uint64_t PageFaults(pid_t process) {
  std::ifstream stat(absl::StrCat("/proc/", process, "/stat"));
  std::string line;
  std::getline(stat, line);
  // The name, in parentheses, may contain anything; the number is the eighth one behind it.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < 8; ++i) fields >> field;
  uint64_t faults = 0;
  return absl::SimpleAtoi(field, &faults) ? faults : 0;
}

}  // namespace

uint64_t PeakBytes(pid_t process) { return StatusBytes(process, "VmHWM:"); }

uint64_t ResidentBytes(pid_t process) { return StatusBytes(process, "VmRSS:"); }

Meter::Meter(std::chrono::duration<double> warm_up, std::chrono::duration<double> duration,
             uint64_t least_calls, pid_t server)
    : duration_(duration),
      least_calls_(least_calls),
      server_(server),
      begin_(SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(warm_up)) {}

bool Meter::Done(SteadyClock::time_point began, SteadyClock::time_point ended) {
  if (phase_ == Phase::kOver) return false;
  if (phase_ == Phase::kWarmUp) {
    if (++warm_calls_ >= least_calls_ && ended >= begin_) Begin(ended);
    return true;
  }
  ++result_.calls;
  result_.latency.Record(static_cast<uint64_t>(std::chrono::nanoseconds(ended - began).count()));
  if (ended - begin_ < duration_ || result_.calls < least_calls_) return true;
  End(ended);
  return false;
}

void Meter::Begin(SteadyClock::time_point now) {
  phase_ = Phase::kMeasure;
  begin_ = now;
  client_cpu_s_ = CpuSeconds(0);
  if (server_ == 0) return;
  ForgetPeak(server_);
  server_cpu_s_ = CpuSeconds(server_);
  server_page_faults_ = PageFaults(server_);
}

void Meter::End(SteadyClock::time_point now) {
  phase_ = Phase::kOver;
  result_.seconds = std::chrono::duration<double>(now - begin_).count();
  result_.client_cpu_s = CpuSeconds(0) - client_cpu_s_;
  if (server_ == 0) return;
  result_.server_cpu_s = CpuSeconds(server_) - server_cpu_s_;
  result_.server_page_faults = PageFaults(server_) - server_page_faults_;
  result_.server_peak_bytes = PeakBytes(server_);
}

}  // namespace opserve::wire_bench
