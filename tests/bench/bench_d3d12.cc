// Measures a Direct3D 12 device: batched against single calls, whole calls by size, inputs that the
// device keeps against those that are uploaded, chains whose results stay on the device, kernels
// against a copy on the device, transfers against memcpy.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"
#include "tests/bench/device_meter.h"
#include "tests/bench/kernel_call.h"
#include "tests/bench/measure.h"

namespace opserve::bench {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

struct Options {
  int adapter = -1;
  double seconds = 0.4;
  std::string json_path;
};

struct Case {
  OpId op;
  DataType type;
  // The least ratio of the kernel to the copy that is aimed at on hardware; 0 for none.
  double goal = 0;
};

constexpr Case kCases[] = {
    {OpId::ELEMENT_WISE_ROUND, DataType::kFloat32, 0.9},
    {OpId::ELEMENT_WISE_ROUND, DataType::kFloat16, 0.9},
    {OpId::ELEMENT_WISE_IF, DataType::kFloat32, 0.9},
    {OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kFloat32},
    {OpId::ELEMENT_WISE_IS_INFINITY, DataType::kFloat32, 0.9},
};

std::string NameOf(const Case& each) {
  return absl::StrCat(TraitsOf(each.op).name, " ", opserve::NameOf(each.type));
}

// A number and what it is compared with.
struct Row {
  std::string section = {};
  std::string name = {};
  uint64_t bytes = 0;
  std::string unit = {};
  double value = 0;
  double peer = 0;
  double goal = 0;

  double ratio() const { return peer == 0 ? 0 : value / peer; }
};

// A packed call whose lane input has `bytes` bytes.
std::shared_ptr<const Invocation> CallOfBytes(const Case& each, uint64_t bytes) {
  return MakePackedCall(each.op, each.type, 0, static_cast<uint32_t>(bytes / SizeOf(each.type)));
}

DeviceCall CallWith(const Invocation& invocation, CallBuffers& buffers) {
  DeviceCall call = {&invocation, {}, buffers.output.data()};
  std::copy(buffers.input_pointers.begin(), buffers.input_pointers.end(), call.inputs.begin());
  return call;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  absl::Status Run();
  bool WriteJson() const;

 private:
  absl::Status Open();
  absl::Status Batches();
  absl::Status WholeCalls();
  absl::Status KeptInputs();
  absl::Status Chains();
  // Runs a step of a chain per call, each on the result of the one before, which it replaces.
  void RunChain(const Invocation& invocation, CallBuffers& buffers, bool stays);
  absl::Status Kernels();
  absl::Status Transfers();
  void Section(absl::string_view title, absl::string_view columns);
  void Add(Row row);
  // A row of what moved `total_bytes` bytes in either of two times.
  void AddRates(const Case& each, uint64_t bytes, uint64_t total_bytes,
                const std::vector<double>& seconds);
  // Seconds per run of each; the first failure of a run, if any, in status_.
  std::vector<double> Seconds(const std::vector<Competitor>& competitors) const;

  const Options options_;
  d3d12::AdapterInfo adapter_;
  std::shared_ptr<const d3d12::Runtime> runtime_;
  std::unique_ptr<d3d12::D3D12Device> device_;
  std::string section_;
  std::vector<Row> rows_;
  absl::Status status_;
  ContentId last_content_ = kNoContent;
};

absl::Status Bench::Open() {
  absl::StatusOr<std::shared_ptr<const d3d12::Runtime>> runtime = d3d12::Runtime::Load();
  if (!runtime.ok()) return runtime.status();
  runtime_ = *std::move(runtime);
  const std::vector<d3d12::AdapterInfo>& adapters = runtime_->adapters();
  int wanted = options_.adapter;
  for (const d3d12::AdapterInfo& each : adapters) {
    if (wanted < 0 && !each.is_software) wanted = each.index;
  }
  if (wanted < 0) wanted = 0;
  absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> device =
      d3d12::D3D12Device::Create(runtime_, wanted);
  if (!device.ok()) return device.status();
  device_ = *std::move(device);
  adapter_ = adapters[static_cast<size_t>(wanted)];
  const DeviceProfile& profile = device_->profile();
  absl::PrintF("%s (%s), feature level %s over %s, %.1f GiB%s\n", adapter_.name, adapter_.driver,
               profile.feature_level, profile.runtime,
               static_cast<double>(adapter_.memory_bytes) / static_cast<double>(kMiB) / 1024,
               adapter_.is_software ? ", software" : "");
  return absl::OkStatus();
}

void Bench::Section(absl::string_view title, absl::string_view columns) {
  section_ = std::string(title);
  absl::PrintF("\n%s\n%s\n", title, columns);
}

void Bench::Add(Row row) {
  row.section = section_;
  absl::PrintF("%-38s %10s %12.2f %12.2f %8.2f  %s\n", row.name,
               row.bytes >= kMiB ? absl::StrFormat("%d MiB", row.bytes / kMiB)
                                 : absl::StrFormat("%d KiB", row.bytes / kKiB),
               row.value, row.peer, row.ratio(),
               row.goal == 0 || adapter_.is_software ? "" : absl::StrFormat(">= %.1f", row.goal));
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Bench::AddRates(const Case& each, uint64_t bytes, uint64_t total_bytes,
                     const std::vector<double>& seconds) {
  const double gigabytes = static_cast<double>(total_bytes) * 1e-9;
  Add({.name = NameOf(each),
       .bytes = bytes,
       .unit = "GB/s",
       .value = gigabytes / seconds[0],
       .peer = gigabytes / seconds[1]});
}

std::vector<double> Bench::Seconds(const std::vector<Competitor>& competitors) const {
  constexpr int kRepeats = 5;
  return MedianSeconds(competitors, {.repeats = kRepeats,
                                     .batch_seconds = options_.seconds / kRepeats /
                                                      static_cast<double>(competitors.size()) / 2});
}

absl::Status Bench::Batches() {
  constexpr size_t kCalls = 256;
  Section("Packed calls of 4 KiB: batches of 256 against one submission per call, thousand calls/s",
          absl::StrFormat("%-38s %10s %12s %12s %8s", "", "size", "batched", "single", "ratio"));
  for (const Case& each : kCases) {
    const auto invocation = CallOfBytes(each, 4 * kKiB);
    CallBuffers inputs(*invocation, Values::kUsual);
    std::vector<Buffer> outputs;
    std::vector<DeviceCall> calls;
    for (size_t i = 0; i < kCalls; ++i) {
      calls.push_back(CallWith(*invocation, inputs));
      calls.back().output = outputs.emplace_back(invocation->output_bytes).data();
    }
    const auto run = [this](std::span<const DeviceCall> batch) {
      status_.Update(device_->Run(batch));
    };
    const std::vector<double> seconds = Seconds({{[&](int) { run(calls); }}, {[&](int) {
                                                   for (const DeviceCall& call : calls)
                                                     run({&call, 1});
                                                 }}});
    Add({.name = NameOf(each),
         .bytes = 4 * kKiB,
         .unit = "thousand calls/s",
         .value = kCalls / seconds[0] * 1e-3,
         .peer = kCalls / seconds[1] * 1e-3});
  }
  return status_;
}

absl::Status Bench::WholeCalls() {
  Section("Single packed calls, memory to memory through the device, against memcpy, GB/s",
          absl::StrFormat("%-38s %10s %12s %12s %8s", "", "size", "device", "memcpy", "ratio"));
  std::vector<uint64_t> sizes = {64 * kKiB, kMiB, 4 * kMiB};
  if (!adapter_.is_software) sizes = {64 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB};
  for (const Case& each : kCases) {
    for (uint64_t bytes : sizes) {
      const auto invocation = CallOfBytes(each, bytes);
      CallBuffers buffers(*invocation, Values::kUsual);
      const DeviceCall call = CallWith(*invocation, buffers);
      const uint64_t half = buffers.total_bytes / 2;
      const Buffer from(half);
      Buffer to(half);
      const std::vector<double> seconds =
          Seconds({{[&](int) {
                     status_.Update(device_->Run({&call, 1}));
                   }},
                   {[&](int) { std::memcpy(to.data(), from.data(), half); }}});
      AddRates(each, bytes, buffers.total_bytes, seconds);
    }
  }
  return status_;
}

absl::Status Bench::KeptInputs() {
  Section("Single packed calls whose inputs the device keeps, against those that upload them, GB/s",
          absl::StrFormat("%-38s %10s %12s %12s %8s", "", "size", "kept", "uploaded", "ratio"));
  for (const Case& each : kCases) {
    for (const uint64_t bytes : {64 * kKiB, 4 * kMiB}) {
      const auto invocation = CallOfBytes(each, bytes);
      CallBuffers buffers(*invocation, Values::kUsual);
      const DeviceCall uploaded = CallWith(*invocation, buffers);
      DeviceCall kept = uploaded;
      for (TensorBytes& input : kept.inputs) {
        if (!input.is_absent()) input = {input.data(), ++last_content_};
      }
      const std::vector<double> seconds = Seconds({{[&](int) {
                                                     status_.Update(device_->Run({&kept, 1}));
                                                   }},
                                                   {[&](int) {
                                                     status_.Update(device_->Run({&uploaded, 1}));
                                                   }}});
      AddRates(each, bytes, buffers.total_bytes, seconds);
    }
  }
  return status_;
}

void Bench::RunChain(const Invocation& invocation, CallBuffers& buffers, bool stays) {
  constexpr int kSteps = 8;
  for (int step = 0; step < kSteps; ++step) {
    DeviceCall call = CallWith(invocation, buffers);
    call.inputs[0] = {call.inputs[0].data(), last_content_};
    call.content = {.id = last_content_ + 1, .replaced = last_content_};
    ++last_content_;
    // The end of a chain is read.
    bool stayed = false;
    if (stays && step + 1 < kSteps) call.content.stays = &stayed;
    status_.Update(device_->Run({&call, 1}));
  }
}

absl::Status Bench::Chains() {
  Section(
      "Chains of 8 steps in place, of which the last is read, against those that read each, GB/s",
      absl::StrFormat("%-38s %10s %12s %12s %8s", "", "size", "stays", "read", "ratio"));
  constexpr Case kStep = {OpId::ELEMENT_WISE_ROUND, DataType::kFloat32};
  for (const uint64_t bytes : {64 * kKiB, kMiB, 4 * kMiB, 16 * kMiB}) {
    const auto invocation = CallOfBytes(kStep, bytes);
    CallBuffers buffers(*invocation, Values::kUsual);
    ++last_content_;
    const auto chain = [&](bool stays) { RunChain(*invocation, buffers, stays); };
    const std::vector<double> seconds =
        Seconds({{[&](int) { chain(true); }}, {[&](int) { chain(false); }}});
    AddRates(kStep, bytes, 8 * buffers.total_bytes, seconds);
  }
  return status_;
}

absl::Status Bench::Kernels() {
  Section("Packed kernels on data of the device, against a copy between its buffers, GB/s",
          absl::StrFormat("%-38s %10s %12s %12s %8s", "", "size", "kernel", "copy", "ratio"));
  // Far larger than any cache of a graphics card.
  const uint64_t input_bytes = (adapter_.is_software ? 8 : 256) * kMiB;
  absl::StatusOr<std::unique_ptr<DeviceMeter>> meter =
      DeviceMeter::Create(runtime_, adapter_.index);
  if (!meter.ok()) return meter.status();
  for (const Case& each : kCases) {
    const auto one = MakePackedCall(each.op, each.type, 0, 1);
    uint64_t per_element = 0;
    for (uint64_t bytes : one->input_bytes) per_element += bytes;
    const auto call = CallOfBytes(each, input_bytes / per_element * SizeOf(each.type));
    const absl::StatusOr<KernelTimes> times = (*meter)->MeasureKernel(*call, options_.seconds);
    if (!times.ok()) return times.status();
    const double gigabytes = static_cast<double>(times->bytes) * 1e-9;
    Add({.name = NameOf(each),
         .bytes = times->bytes,
         .unit = "GB/s",
         .value = gigabytes / times->kernel,
         .peer = gigabytes / times->copy,
         .goal = each.goal});
  }
  return absl::OkStatus();
}

absl::Status Bench::Transfers() {
  Section("Transfers through the staging rings, against memcpy, GB/s",
          absl::StrFormat("%-38s %10s %12s %12s %8s", "", "size", "transfer", "memcpy", "ratio"));
  absl::StatusOr<std::unique_ptr<DeviceMeter>> meter =
      DeviceMeter::Create(runtime_, adapter_.index);
  if (!meter.ok()) return meter.status();
  for (uint64_t bytes : {kMiB, (adapter_.is_software ? 8 : 64) * kMiB}) {
    const absl::StatusOr<TransferTimes> times =
        (*meter)->MeasureTransfers(bytes, 4 * options_.seconds);
    if (!times.ok()) return times.status();
    const double gigabytes = static_cast<double>(bytes) * 1e-9;
    const std::pair<const char*, double> parts[] = {
        {"memcpy into the upload ring", times->fill_ring},
        {"upload ring to device", times->upload},
        {"device to readback ring", times->readback},
        {"memcpy out of the readback ring", times->empty_ring}};
    for (const auto& [name, seconds] : parts) {
      Add({.name = name,
           .bytes = bytes,
           .unit = "GB/s",
           .value = gigabytes / seconds,
           .peer = gigabytes / times->host_copy});
    }
  }
  return absl::OkStatus();
}

absl::Status Bench::Run() {
  for (const auto part : {&Bench::Open, &Bench::Batches, &Bench::WholeCalls, &Bench::KeptInputs,
                          &Bench::Chains, &Bench::Kernels, &Bench::Transfers}) {
    if (absl::Status status = (this->*part)(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool Bench::WriteJson() const {
  std::ofstream file(options_.json_path);
  file << absl::StrFormat(
      "{\"adapter\": \"%s\", \"driver\": \"%s\", \"feature_level\": \"%s\", \"software\": %s, "
      "\"rows\": [",
      adapter_.name, adapter_.driver, device_->profile().feature_level,
      adapter_.is_software ? "true" : "false");
  const char* separator = "\n";
  for (const Row& row : rows_) {
    file << separator
         << absl::StrFormat(
                "  {\"section\": \"%s\", \"name\": \"%s\", \"bytes\": %d, \"unit\": \"%s\", "
                "\"value\": %.4f, \"peer\": %.4f, \"ratio\": %.4f, \"goal\": %.1f}",
                row.section, row.name, row.bytes, row.unit, row.value, row.peer, row.ratio(),
                row.goal);
    separator = ",\n";
  }
  file << "\n]}\n";
  return file.good();
}

}  // namespace
}  // namespace opserve::bench

int main(int argc, char** argv) {
  opserve::bench::Options options;
  CLI::App app(
      "Measures a Direct3D 12 device. GB/s count bytes read and written; sizes are those of the "
      "first\nlane tensor, or of all bytes for kernels. Goals are for hardware, and never "
      "enforced.");
  app.add_option("--adapter", options.adapter,
                 "Position of the adapter; the first hardware adapter, else 0, if not given")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seconds", options.seconds, "Seconds per row, about")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  app.add_option("--json", options.json_path, "Also write the rows to this file");
  CLI11_PARSE(app, argc, argv);
  opserve::bench::Bench bench(options);
  if (const absl::Status status = bench.Run(); !status.ok()) {
    absl::FPrintF(stderr, "%s\n", status.ToString());
    return 1;
  }
  if (!options.json_path.empty() && !bench.WriteJson()) {
    absl::FPrintF(stderr, "cannot write %s\n", options.json_path);
    return 1;
  }
  return 0;
}
