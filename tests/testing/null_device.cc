#include "tests/testing/null_device.h"

#include <algorithm>

#include "kernels/op_table.h"

namespace opserve::testing {
namespace {

// Where a call's result goes.
struct Result {
  std::byte* data;
  uint64_t bytes;
};

std::vector<Result> ResultsOf(const DeviceCall& call) {
  if (call.sequence == nullptr) return {{call.output, call.invocation->output_bytes}};
  std::vector<Result> results;
  for (size_t i = 0; i < call.sequence->outputs.size(); ++i) {
    results.push_back({call.sequence->outputs[i], call.sequence->sequence->output_bytes(i)});
  }
  return results;
}

}  // namespace

void NullScript::FailRun(uint64_t nth, absl::Status status) {
  MutexLock lock(mutex_);
  failures_[run_count_ + nth] = std::move(status);
}

void NullScript::LoseAtRun(uint64_t nth) {
  MutexLock lock(mutex_);
  lost_at_ = run_count_ + nth;
}

void NullScript::HangAtRun(uint64_t nth) {
  MutexLock lock(mutex_);
  hangs_.insert(run_count_ + nth);
}

void NullScript::Release() {
  MutexLock lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

void NullScript::CloseGate() {
  MutexLock lock(mutex_);
  gate_open_ = false;
}

void NullScript::OpenGate() {
  MutexLock lock(mutex_);
  gate_open_ = true;
  changed_.notify_all();
}

void NullScript::CorruptResult(uint64_t nth) {
  MutexLock lock(mutex_);
  corruptions_.insert(result_count_ + nth);
}

void NullScript::CorruptAll(bool corrupt) {
  MutexLock lock(mutex_);
  corrupts_all_ = corrupt;
}

void NullScript::LimitCalls(size_t most) {
  MutexLock lock(mutex_);
  most_calls_ = most;
}

void NullScript::Unsupport(OpId op, DataType lane) {
  MutexLock lock(mutex_);
  unsupported_.insert({op, lane});
}

void NullScript::SupportOnly(OpId op, DataType lane) {
  MutexLock lock(mutex_);
  for (const OpTraits& other : OpTable()) {
    for (DataType type : kAllDataTypes) {
      if (other.id != op || type != lane) unsupported_.insert({other.id, type});
    }
  }
}

void NullScript::UnsupportSequences() {
  MutexLock lock(mutex_);
  runs_sequences_ = false;
}

void NullScript::ForgetAll() {
  MutexLock lock(mutex_);
  ++forgotten_;
}

void NullScript::HandOverResults() {
  MutexLock lock(mutex_);
  hands_over_ = true;
}

void NullScript::FailReads(int count, absl::Status status) {
  MutexLock lock(mutex_);
  failing_reads_ = count;
  read_failure_ = std::move(status);
}

void NullScript::OnRun(std::function<void(std::span<const DeviceCall>)> hook) {
  MutexLock lock(mutex_);
  hook_ = std::move(hook);
}

void NullScript::WaitForBlocked(int count) {
  MutexLock lock(mutex_);
  while (blocked_ < count) changed_.wait(mutex_);
}

std::map<size_t, uint64_t> NullScript::runs() const {
  MutexLock lock(mutex_);
  return runs_;
}

uint64_t NullScript::run_count() const {
  MutexLock lock(mutex_);
  return run_count_;
}

absl::Status NullScript::Begin(std::span<const DeviceCall> calls) {
  std::function<void(std::span<const DeviceCall>)> hook;
  {
    MutexLock lock(mutex_);
    const uint64_t run = ++run_count_;
    ++runs_[calls.size()];
    if (hangs_.contains(run)) {
      Block(released_);
      lost_at_ = 0;
    }
    Block(gate_open_);
    if (run >= lost_at_) return absl::UnavailableError("lost by the script");
    const auto failure = failures_.find(run);
    if (failure != failures_.end()) return failure->second;
    if (calls.size() > most_calls_) return absl::ResourceExhaustedError("full by the script");
    hook = hook_;
  }
  if (hook) hook(calls);
  return absl::OkStatus();
}

absl::Status NullScript::BeginRead() {
  MutexLock lock(mutex_);
  Block(gate_open_);
  if (run_count_ >= lost_at_) return absl::UnavailableError("lost by the script");
  if (failing_reads_ == 0) return absl::OkStatus();
  --failing_reads_;
  return read_failure_;
}

uint64_t NullScript::forgotten() const {
  MutexLock lock(mutex_);
  return forgotten_;
}

bool NullScript::HandsResultsOver() const {
  MutexLock lock(mutex_);
  return hands_over_;
}

void NullScript::Block(const bool& until) {
  ++blocked_;
  changed_.notify_all();
  while (!until) changed_.wait(mutex_);
  --blocked_;
}

bool NullScript::TakeCorruption() {
  MutexLock lock(mutex_);
  ++result_count_;
  return corrupts_all_ || corruptions_.contains(result_count_);
}

bool NullScript::Supports(OpId op, DataType lane) const {
  MutexLock lock(mutex_);
  return !unsupported_.contains({op, lane});
}

bool NullScript::RunsSequences() const {
  MutexLock lock(mutex_);
  return runs_sequences_;
}

bool NullDevice::Supports(OpId op, DataType lane) const { return script_->Supports(op, lane); }

absl::Status NullDevice::Run(std::span<const DeviceCall> calls) {
  absl::Status begun = script_->Begin(calls);
  for (const DeviceCall& call : calls) {
    if (begun.ok()) {
      if (absl::Status computed = Compute(call); !computed.ok()) return computed;
    }
    for (const Result& result : ResultsOf(call)) {
      // What a failed run leaves behind must not be mistaken for a result.
      if (!begun.ok()) std::fill_n(result.data, result.bytes, std::byte{0xEE});
      // The top of the exponent, if it is a float, so that no NaN hides it.
      if (begun.ok() && script_->TakeCorruption()) result.data[result.bytes - 1] ^= std::byte{0x40};
    }
    if (begun.ok()) KeepResults(call);
  }
  return begun;
}

absl::Status NullDevice::Compute(const DeviceCall& call) {
  if (call.sequence != nullptr) {
    if (!script_->RunsSequences()) return absl::UnimplementedError("no sequences by the script");
    return processor_.Run({&call, 1});
  }
  const Invocation& invocation = *call.invocation;
  if (!Supports(invocation.op, invocation.lane_type)) {
    return absl::UnimplementedError("unsupported by the script");
  }
  std::vector<Copy> copies;
  const DeviceCall on_kept = OnKept(call, copies);
  return processor_.Run({&on_kept, 1});
}

absl::Status NullDevice::Read(ContentId content, std::span<std::byte> to) {
  if (absl::Status begun = script_->BeginRead(); !begun.ok()) return begun;
  MutexLock lock(mutex_);
  ForgetIfTold();
  const auto kept = kept_.find(content);
  if (kept == kept_.end()) return absl::NotFoundError("not kept");
  std::copy_n(kept->second->begin(), to.size(), to.begin());
  ++transfers_.read_results;
  return absl::OkStatus();
}

void NullDevice::Release(ContentId content, bool is_of_use) {
  if (is_of_use) return;
  MutexLock lock(mutex_);
  const auto kept = kept_.find(content);
  if (kept == kept_.end()) return;
  transfers_.kept_bytes -= kept->second->size();
  kept_.erase(kept);
}

void NullDevice::KeepResults(const DeviceCall& call) {
  if (call.sequence == nullptr) {
    KeepResult(call.content, call.output, call.invocation->output_bytes, call.hands_over);
    return;
  }
  for (size_t i = 0; i < call.sequence->contents.size(); ++i) {
    KeepResult(call.sequence->contents[i], call.sequence->outputs[i],
               call.sequence->sequence->output_bytes(i), call.hands_over);
  }
}

void NullDevice::KeepResult(const ResultContent& content, std::byte* output, uint64_t bytes,
                            bool hands_over) {
  if (content.id != kNoContent) Keep(content.id, std::vector<std::byte>(output, output + bytes));
  if (content.stays == nullptr || hands_over || script_->HandsResultsOver()) return;
  std::fill_n(output, bytes, std::byte{0xEE});
  *content.stays = true;
  MutexLock lock(mutex_);
  ++transfers_.kept_results;
}

void NullDevice::ForgetIfTold() {
  const uint64_t told = script_->forgotten();
  if (told == forgotten_) return;
  kept_.clear();
  transfers_.kept_bytes = 0;
  forgotten_ = told;
}

TransferCounters NullDevice::transfers() const {
  MutexLock lock(mutex_);
  return transfers_;
}

DeviceCall NullDevice::OnKept(DeviceCall call, std::vector<Copy>& copies) {
  for (int i = 0; i < TraitsOf(call.invocation->op).input_count(); ++i) {
    TensorBytes& input = call.inputs[i];
    if (input.is_absent()) continue;
    const uint64_t bytes = call.invocation->input_bytes[i];
    {
      MutexLock lock(mutex_);
      ForgetIfTold();
      if (const auto kept = kept_.find(input.content()); kept != kept_.end()) {
        ++transfers_.kept_inputs;
        input = copies.emplace_back(kept->second)->data();
        continue;
      }
      transfers_.uploaded_bytes += bytes;
    }
    input = input.Fetched();
    if (input.content() == kNoContent) continue;
    std::vector<std::byte> copy(bytes);
    input.CopyTo(copy.data(), bytes);
    Keep(input.content(), std::move(copy));
  }
  return call;
}

// Another run may have kept the same meanwhile.
void NullDevice::Keep(ContentId content, std::vector<std::byte> copy) {
  MutexLock lock(mutex_);
  const uint64_t bytes = copy.size();
  const bool is_new =
      kept_.emplace(content, std::make_shared<const std::vector<std::byte>>(std::move(copy)))
          .second;
  if (is_new) transfers_.kept_bytes += bytes;
}

DeviceProfile NullProfile(std::string name, bool is_software) {
  DeviceProfile profile;
  profile.kind = DeviceKind::kGpu;
  profile.name = std::move(name);
  profile.description = "A device without hardware";
  profile.runtime = "script";
  profile.driver = "none 1.0";
  profile.is_software = is_software;
  return profile;
}

DeviceSource NullDeviceFactory::source() {
  return {.profile = profile_, .create = [this] { return Create(); }};
}

GpuFinder NullDeviceFactory::finder() {
  return [source = source()] { return std::vector<DeviceSource>{source}; };
}

void NullDeviceFactory::FailCreations(int count, absl::Status status) {
  MutexLock lock(mutex_);
  failures_left_ = count;
  failure_ = std::move(status);
}

void NullDeviceFactory::PrepareScripts(std::function<void(NullScript&)> prepare) {
  MutexLock lock(mutex_);
  prepare_ = std::move(prepare);
}

int NullDeviceFactory::attempts() const {
  MutexLock lock(mutex_);
  return attempts_;
}

std::shared_ptr<NullScript> NullDeviceFactory::script() const {
  MutexLock lock(mutex_);
  return scripts_.empty() ? nullptr : scripts_.back();
}

absl::StatusOr<std::unique_ptr<ComputeDevice>> NullDeviceFactory::Create() {
  MutexLock lock(mutex_);
  ++attempts_;
  if (failures_left_ > 0) {
    --failures_left_;
    return failure_;
  }
  const auto script = std::make_shared<NullScript>();
  if (prepare_) prepare_(*script);
  scripts_.push_back(script);
  return std::make_unique<NullDevice>(profile_, script);
}

}  // namespace opserve::testing
