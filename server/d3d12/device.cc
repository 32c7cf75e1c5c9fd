#include "server/d3d12/device.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/d3d12/runtime/runtime_impl.h"

namespace opserve::d3d12 {
namespace {

D3D12_ROOT_PARAMETER RootDescriptor(D3D12_ROOT_PARAMETER_TYPE type, UINT shader_register) {
  D3D12_ROOT_PARAMETER parameter{};
  parameter.ParameterType = type;
  parameter.Descriptor.ShaderRegister = shader_register;
  return parameter;
}

absl::StatusOr<ComPtr<ID3D12RootSignature>> CreateRootSignature(const Runtime::Impl& runtime,
                                                                ID3D12Device& device) {
  std::array<D3D12_ROOT_PARAMETER, kRootParameterCount> parameters{};
  parameters[kRootConstants].ParameterType = D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS;
  parameters[kRootConstants].Constants.Num32BitValues = kRootConstantCount;
  // t0 to t2 are the inputs, t3 is the plan.
  for (UINT i = kRootFirstResource; i < kRootOutput; ++i) {
    parameters[i] = RootDescriptor(D3D12_ROOT_PARAMETER_TYPE_SRV, i - kRootFirstResource);
  }
  parameters[kRootOutput] = RootDescriptor(D3D12_ROOT_PARAMETER_TYPE_UAV, 0);
  parameters[kRootOpen] = RootDescriptor(D3D12_ROOT_PARAMETER_TYPE_UAV, 1);
  const D3D12_ROOT_SIGNATURE_DESC desc{kRootParameterCount, parameters.data(), 0, nullptr,
                                       D3D12_ROOT_SIGNATURE_FLAG_NONE};
  ComPtr<ID3DBlob> blob;
  ComPtr<ID3DBlob> error;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(runtime.serialize_root_signature(
      &desc, D3D_ROOT_SIGNATURE_VERSION_1, blob.GetAddressOf(), error.GetAddressOf())));
  ComPtr<ID3D12RootSignature> root_signature;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device.CreateRootSignature(
      0, blob->GetBufferPointer(), blob->GetBufferSize(), IID_ID3D12RootSignature,
      reinterpret_cast<void**>(root_signature.GetAddressOf()))));
  return root_signature;
}

absl::StatusOr<bool> SharesMemory(ID3D12Device& device) {
  D3D12_FEATURE_DATA_ARCHITECTURE architecture{};
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(
      device.CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof(architecture))));
  return architecture.UMA != 0;
}

D3D12_HEAP_PROPERTIES HeapOf(BufferKind kind) {
  D3D12_HEAP_PROPERTIES heap{};
  heap.CreationNodeMask = 1;
  heap.VisibleNodeMask = 1;
  heap.Type = D3D12_HEAP_TYPE_DEFAULT;
  if (kind == BufferKind::kUpload) heap.Type = D3D12_HEAP_TYPE_UPLOAD;
  if (kind == BufferKind::kReadback) {
    // What a readback heap is on all adapters; but that one allows no kernel to write to it.
    heap.Type = D3D12_HEAP_TYPE_CUSTOM;
    heap.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
    heap.MemoryPoolPreference = D3D12_MEMORY_POOL_L0;
  }
  return heap;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> Device::Create(std::shared_ptr<const Runtime> runtime,
                                                       int adapter) {
  if (adapter < 0 || static_cast<size_t>(adapter) >= runtime->adapters().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Adapter ", adapter, " does not exist; there are ", runtime->adapters().size(), "."));
  }
  std::unique_ptr<Device> device(new Device(std::move(runtime), adapter));
  OPSERVE_RETURN_IF_ERROR(device->Initialize());
  return device;
}

absl::Status Device::Initialize() {
  const Runtime::Impl& runtime = runtime_->impl();
  OPSERVE_RETURN_IF_ERROR(runtime.CreateDevice(adapter_.index, device_));
  absl::StatusOr<ComPtr<ID3D12RootSignature>> root_signature =
      CreateRootSignature(runtime, *device_.Get());
  if (!root_signature.ok()) return root_signature.status();
  root_signature_ = *std::move(root_signature);
  const absl::StatusOr<bool> shares_memory = SharesMemory(*device_.Get());
  if (!shares_memory.ok()) return shares_memory.status();
  shares_memory_ = *shares_memory;
  return absl::OkStatus();
}

absl::StatusOr<ComPtr<ID3D12Resource>> Device::CreateBuffer(BufferKind kind, uint64_t bytes) const {
  const bool is_upload = kind == BufferKind::kUpload;
  const D3D12_HEAP_PROPERTIES heap = HeapOf(kind);
  // Upload heaps allow one state only.
  const D3D12_RESOURCE_STATES state =
      is_upload ? D3D12_RESOURCE_STATE_GENERIC_READ : D3D12_RESOURCE_STATE_COMMON;
  D3D12_RESOURCE_DESC desc{};
  desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
  desc.Width = bytes;
  desc.Height = 1;
  desc.DepthOrArraySize = 1;
  desc.MipLevels = 1;
  desc.SampleDesc.Count = 1;
  desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
  desc.Flags = is_upload ? D3D12_RESOURCE_FLAG_NONE : D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
  ComPtr<ID3D12Resource> buffer;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device_->CreateCommittedResource(
      &heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, IID_ID3D12Resource,
      reinterpret_cast<void**>(buffer.GetAddressOf()))));
  return buffer;
}

absl::StatusOr<ComPtr<ID3D12PipelineState>> Device::CreatePipeline(
    std::span<const std::byte> code) const {
  D3D12_COMPUTE_PIPELINE_STATE_DESC desc{};
  desc.pRootSignature = root_signature_.Get();
  desc.CS = {code.data(), code.size()};
  ComPtr<ID3D12PipelineState> pipeline;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device_->CreateComputePipelineState(
      &desc, IID_ID3D12PipelineState, reinterpret_cast<void**>(pipeline.GetAddressOf()))));
  return pipeline;
}

std::optional<MemoryReport> Device::memory() const {
  return runtime_->impl().MemoryOf(adapter_.index);
}

uint64_t Device::UntoldFailures() const { return runtime_->impl().UntoldFailures(); }

bool Device::WaitUntilIdle() const { return runtime_->impl().WaitUntilIdle(api()); }

absl::Status Device::status() const {
  {
    MutexLock lock(mutex_);
    if (!lost_.ok()) return lost_;
  }
  const absl::Status told = runtime_->impl().LossOf(api());
  if (told.ok()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("The device is lost: ", told.message()));
}

void Device::MarkLost(const absl::Status& reason) {
  const absl::Status told = runtime_->impl().LossOf(api());
  const bool is_told = told.ok() || absl::StrContains(reason.message(), told.message());
  const absl::Status with_told =
      is_told ? reason
              : absl::UnavailableError(
                    absl::StrCat(reason.message(), " The run time says: ", told.message()));
  MutexLock lock(mutex_);
  if (lost_.ok()) lost_ = with_told;
}

}  // namespace opserve::d3d12
