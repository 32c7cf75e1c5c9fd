// Clients of one kind that share a server with others: so many identities, each with so many calls
// at a time, or so many per second. Prints what they got as JSON.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "opserve/client.h"
#include "tests/bench/shared/tally.h"

namespace opserve::shared_bench {
namespace {

struct Options {
  std::string target;
  std::string tokens;
  int calls_at_a_time = 1;
  double rate = 0;
  int channels = 1;
  uint32_t values = 16;
  double warm_up = 1;
  double seconds = 5;
  bool is_urgent = false;
  bool retries = false;
};

// A tensor to round towards zero, and what has to come back.
class Work {
 public:
  explicit Work(const Options& options) {
    for (uint32_t i = 0; i < options.values; ++i) {
      values_.push_back(0.37f * static_cast<float>(i) - 100);
      rounded_.push_back(std::trunc(values_.back()));
    }
    call_.operator_name = "ELEMENT_WISE_ROUND";
    call_.attributes = {{"RoundingMode", "TOWARD_ZERO"}};
    call_.inputs = {TensorView::Of<float>(values_, {options.values})};
    if (options.is_urgent) call_.priority = CallPriority::kHigh;
  }

  const OperatorCall& call() const { return call_; }

  bool IsRight(const absl::StatusOr<Tensor>& result) const {
    if (!result.ok()) return false;
    const auto values = result->Elements<float>();
    return values.ok() &&
           std::equal(values->begin(), values->end(), rounded_.begin(), rounded_.end());
  }

 private:
  std::vector<float> values_;
  std::vector<float> rounded_;
  OperatorCall call_;
};

// A place from which one call after the other is made, the next in the callback of the last.
class Chain {
 public:
  Chain(Client& client, const Work& work, Tally& tally, std::atomic<int>& running)
      : client_(client), work_(work), tally_(tally), running_(running) {
    ++running_;
  }

  void Next() {
    if (SteadyClock::now() >= tally_.end()) {
      if (--running_ == 0) running_.notify_all();
      return;
    }
    const auto began = SteadyClock::now();
    client_.ExecuteAsync(
        work_.call(), [this, began](const absl::StatusOr<Tensor>& result, const ExecutionInfo&) {
          tally_.Count(began, SteadyClock::now(), result.status(), work_.IsRight(result));
          Next();
        });
  }

 private:
  Client& client_;
  const Work& work_;
  Tally& tally_;
  std::atomic<int>& running_;
};

// Calls of one identity at the wanted rate, one at a time.
void CallSteadily(Client& client, const Work& work, Tally& tally, double rate) {
  const auto period =
      std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(1 / rate));
  for (auto next = SteadyClock::now(); next < tally.end(); next += period) {
    std::this_thread::sleep_until(next);
    const auto result = client.Execute(work.call());
    // The time that a call waited for the one before it counts.
    tally.Count(next, SteadyClock::now(), result.status(), work.IsRight(result));
  }
}

std::vector<std::string> ReadTokens(const std::string& path) {
  std::vector<std::string> tokens;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) tokens.push_back(line);
  return tokens;
}

int Run(const Options& options) {
  std::vector<std::unique_ptr<Client>> clients;
  for (const std::string& token : ReadTokens(options.tokens)) {
    ClientOptions settings;
    settings.bearer_token = token;
    settings.channels = options.channels;
    if (!options.retries) settings.retry.max_attempts = 1;
    auto client = Client::Connect(options.target, settings);
    if (!client.ok()) {
      std::cerr << "shared_load: " << client.status() << '\n';
      return 1;
    }
    clients.push_back(*std::move(client));
  }
  const Work work(options);
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(count));
  };
  Tally tally(SteadyClock::now() + seconds(options.warm_up), seconds(options.seconds));
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Chain>> chains;
  std::atomic<int> running = 0;
  for (const auto& client : clients) {
    if (options.rate > 0) {
      threads.emplace_back([&] { CallSteadily(*client, work, tally, options.rate); });
      continue;
    }
    for (int i = 0; i < options.calls_at_a_time; ++i) {
      chains.push_back(std::make_unique<Chain>(*client, work, tally, running));
    }
  }
  for (const auto& chain : chains) chain->Next();
  for (std::thread& thread : threads) thread.join();
  for (int left = running; left > 0; left = running) running.wait(left);
  std::cout << tally.ToJson().dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace opserve::shared_bench

int main(int argc, char** argv) {
  opserve::shared_bench::Options options;
  CLI::App app("Calls a server as identities that share it.");
  app.add_option("--target", options.target, "host:port or unix:/path")->required();
  app.add_option("--tokens", options.tokens, "File with a token per line: one identity each")
      ->required();
  app.add_option("--calls-at-a-time", options.calls_at_a_time, "Of each identity");
  app.add_option("--rate", options.rate, "Calls per second of each identity instead");
  app.add_option("--channels", options.channels, "Connections of each identity");
  app.add_option("--values", options.values, "Elements of the tensors, of 4 bytes");
  app.add_option("--warm-up", options.warm_up, "Seconds that are not counted");
  app.add_option("--seconds", options.seconds, "Seconds that are");
  app.add_flag("--urgent", options.is_urgent, "With PRIORITY_HIGH");
  app.add_flag("--retries", options.retries, "Try again when the server says, as programs do");
  CLI11_PARSE(app, argc, argv);
  return opserve::shared_bench::Run(options);
}
