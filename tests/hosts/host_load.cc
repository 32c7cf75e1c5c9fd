// Calls one or several hosts without a pause, and checks every answer. Says on standard output, in
// a line of JSON for each line of standard input, what has come of the calls so far; ends with it.
// No call is under way between the lines "pause" and "go on".
//
// Threads in turn add numbers that nobody else adds. With --in-place each thread has a tensor at a
// host instead, and adds one to it: how often it was added, its content tells in the end.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "opserve/client.h"
#include "opserve/errors.h"
#include "proto/base/mutex.h"

namespace opserve::host_load {
namespace {

struct Settings {
  std::string target;
  int threads = 4;
  uint32_t elements = 64;
  uint64_t timeout_ms = 60000;
  uint64_t keepalive_timeout_ms = 20000;
  int max_attempts = 5;
  uint64_t max_backoff_ms = 5000;
  bool in_place = false;
  size_t hosts = 1;
};

// Thread-safe.
class Outcomes {
 public:
  void AddRight(int sends) {
    ++right_;
    if (sends > 1) ++retried_;
  }
  void AddWrong() { ++wrong_; }
  void AddFailure(const absl::Status& status) {
    ++failed_;
    const MutexLock lock(mutex_);
    if (failures_.size() < kMostFailures) failures_.push_back(Describe(status));
  }
  void AddTensor(nlohmann::json tensor) {
    const MutexLock lock(mutex_);
    tensors_.push_back(std::move(tensor));
  }

  nlohmann::json ToJson() const {
    const MutexLock lock(mutex_);
    return {{"right", right_.load()},   {"wrong", wrong_.load()}, {"retried", retried_.load()},
            {"failed", failed_.load()}, {"failures", failures_},  {"tensors", tensors_}};
  }

 private:
  static constexpr size_t kMostFailures = 8;
  std::atomic<uint64_t> right_ = 0;
  std::atomic<uint64_t> wrong_ = 0;
  std::atomic<uint64_t> retried_ = 0;  // of the right ones
  std::atomic<uint64_t> failed_ = 0;
  mutable Mutex mutex_;
  std::vector<std::string> failures_ ABSL_GUARDED_BY(mutex_);
  std::vector<nlohmann::json> tensors_ ABSL_GUARDED_BY(mutex_);
};

OperatorCall Sum(TensorView a, TensorView b) {
  return {.operator_name = "ELEMENT_WISE_ADD", .inputs = {std::move(a), std::move(b)}};
}

// Lets calls begin, unless there is a pause. Thread-safe.
class Gate {
 public:
  void Begin() {
    const MutexLock lock(mutex_);
    while (is_closed_) changed_.Wait(mutex_);
    ++calls_;
  }
  void End() {
    const MutexLock lock(mutex_);
    --calls_;
    changed_.NotifyAll();
  }

  // Waits until no call is under way.
  void Close() {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    while (calls_ > 0) changed_.Wait(mutex_);
  }
  void Open() {
    const MutexLock lock(mutex_);
    is_closed_ = false;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Adds `number` to small numbers once.
void AddNumbers(Client& client, const Settings& settings, float number, Outcomes& outcomes) {
  const std::vector<float> a(settings.elements, number);
  std::vector<float> b(settings.elements);
  for (uint32_t i = 0; i < settings.elements; ++i) b[i] = static_cast<float>(i % 64);
  ExecutionInfo info;
  const absl::StatusOr<Tensor> sum =
      client.Execute(Sum(TensorView::Of<float>(a, {settings.elements}),
                         TensorView::Of<float>(b, {settings.elements})),
                     {}, &info);
  if (!sum.ok()) return outcomes.AddFailure(sum.status());
  const auto elements = sum->Elements<float>();
  bool is_right = elements.ok() && elements->size() == settings.elements;
  for (uint32_t i = 0; is_right && i < settings.elements; ++i) {
    is_right = (*elements)[i] == a[i] + b[i];
  }
  return is_right ? outcomes.AddRight(info.sends) : outcomes.AddWrong();
}

// Whether a call that failed so can have reached its host.
bool MayHaveRun(const absl::Status& status) {
  return !absl::StartsWith(status.message(), "no connection to") &&
         !absl::StartsWith(status.message(), "failed to connect") &&
         !absl::StartsWith(status.message(), "connections to all backends failing");
}

// Makes tensors until so many hosts have had one: one that is not connected yet has no turn.
void AwaitHosts(Client& client, size_t count, Outcomes& outcomes) {
  const std::vector<float> zero = {0};
  std::set<std::string> hosts;
  while (hosts.size() < count) {
    const absl::StatusOr<TensorLease> tensor =
        client.CreateTensor(TensorView::Of<float>(zero, {1}));
    if (!tensor.ok()) return outcomes.AddFailure(tensor.status());
    hosts.insert(std::string(HostOf(tensor->handle.id)));
    const auto deleted = client.DeleteTensors({tensor->handle});
    if (!deleted.ok()) return outcomes.AddFailure(deleted.status());
  }
}

// Adds one to a tensor until `stops`, then tells what is there.
void AddInPlace(Client& client, const std::atomic<bool>& stops, Outcomes& outcomes) {
  const std::vector<float> zero = {0};
  const std::vector<float> one = {1};
  const absl::StatusOr<TensorLease> tensor = client.CreateTensor(TensorView::Of<float>(zero, {1}));
  if (!tensor.ok()) return outcomes.AddFailure(tensor.status());
  uint64_t right = 0;
  uint64_t unknown = 0;
  while (!stops) {
    const absl::StatusOr<TensorSpec> sum = client.ExecuteTo(
        Sum(TensorView::At(tensor->handle), TensorView::Of<float>(one, {1})), tensor->handle);
    if (sum.ok()) {
      ++right;
      outcomes.AddRight(/*sends=*/1);
    } else {
      if (MayHaveRun(sum.status())) ++unknown;
      outcomes.AddFailure(sum.status());
    }
  }
  const absl::StatusOr<Tensor> content = client.ReadTensor(tensor->handle);
  if (!content.ok()) return outcomes.AddFailure(content.status());
  outcomes.AddTensor({{"host", HostOf(tensor->handle.id)},
                      {"right", right},
                      {"unknown", unknown},
                      {"content", (*content->Elements<float>())[0]}});
}

int Run(const Settings& settings) {
  ClientOptions options;
  options.default_timeout = absl::Milliseconds(settings.timeout_ms);
  options.keepalive_timeout = absl::Milliseconds(settings.keepalive_timeout_ms);
  options.retry.max_attempts = settings.max_attempts;
  options.retry.max_backoff = absl::Milliseconds(settings.max_backoff_ms);
  const auto client = Client::Connect(settings.target, options);
  if (!client.ok()) {
    std::cerr << Describe(client.status()) << '\n';
    return EXIT_FAILURE;
  }
  Outcomes outcomes;
  std::atomic<bool> stops = false;
  Gate gate;
  if (settings.in_place) AwaitHosts(**client, settings.hosts, outcomes);
  std::vector<std::thread> threads;
  threads.reserve(settings.threads);
  for (int t = 0; t < settings.threads; ++t) {
    threads.emplace_back([&, t] {
      if (settings.in_place) return AddInPlace(**client, stops, outcomes);
      for (int i = 0; !stops; ++i) {
        gate.Begin();
        AddNumbers(**client, settings, static_cast<float>(t * 100000 + i % 100000), outcomes);
        gate.End();
      }
    });
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "pause") gate.Close();
    if (line == "go on") gate.Open();
    std::cout << outcomes.ToJson().dump() << std::endl;
  }
  stops = true;
  for (std::thread& thread : threads) thread.join();
  std::cout << outcomes.ToJson().dump() << std::endl;
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace opserve::host_load

int main(int argc, char** argv) {
  opserve::host_load::Settings settings;
  CLI::App app("Calls hosts without a pause, and checks every answer", "host_load");
  app.add_option("--target", settings.target)->required();
  app.add_option("--threads", settings.threads);
  app.add_option("--elements", settings.elements);
  app.add_option("--timeout-ms", settings.timeout_ms);
  app.add_option("--keepalive-timeout-ms", settings.keepalive_timeout_ms);
  app.add_option("--max-attempts", settings.max_attempts);
  app.add_option("--max-backoff-ms", settings.max_backoff_ms);
  app.add_flag("--in-place", settings.in_place);
  app.add_option("--hosts", settings.hosts, "Hosts that are to be there before --in-place begins");
  CLI11_PARSE(app, argc, argv);
  return opserve::host_load::Run(settings);
}
