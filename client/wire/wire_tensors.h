// File: client/wire/wire_tensors.h
//
// The parts of messages that calls of all kinds share: descriptors, places and attributes.
// Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_WIRE_WIRE_TENSORS_H_
#define OPSERVE_CLIENT_WIRE_WIRE_TENSORS_H_

#include <string>
#include <utility>
#include <vector>

#include "client/wire/message.h"
#include "opserve/call.h"
#include "opserve/place.h"
#include "opserve/tensor.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {

void EncodeSpec(const TensorSpec& spec, v1::TensorDesc* desc);
TensorSpec DecodeSpec(const v1::TensorDesc& desc);

// The address of the host that has the place; empty where it tells none.
std::string HostOf(const TensorPlace& place);
using opserve::HostOf;

void EncodePlace(const TensorPlace& place, v1::TensorPlace* encoded);

void EncodeAttributes(const std::vector<Attribute>& attributes,
                      google::protobuf::RepeatedPtrField<v1::Attribute>* encoded);

// The variable of the environment by which programs get a lease; see opserve/device_lease.h.
inline constexpr char kDeviceLeaseVariable[] = "OPSERVE_LEASE";

// The lease that a call with these settings runs under; empty: none.
std::string LeaseOf(const std::string& named, DevicePreference device);

// What a call of one operator or of several says beside its tensors. Nothing is set to an empty
// string, for which protobuf would allocate one.
template <class Call, class Request>
void EncodeSettings(const Call& call, Request& request) {
  if (!call.request_id.empty()) request.set_request_id(call.request_id);
  if (!call.feature_level.empty()) request.set_feature_level(call.feature_level);
  request.set_device(static_cast<v1::DevicePreference>(call.device));
  request.set_priority(static_cast<v1::Priority>(call.priority));
  request.set_verify(call.verify);
  std::string lease = LeaseOf(call.device_lease, call.device);
  if (!lease.empty()) request.set_device_lease(std::move(lease));
}

// Descriptors and places of inputs; no places where all inputs are in memory of the caller.
void EncodeInputs(const std::vector<TensorView>& inputs,
                  google::protobuf::RepeatedPtrField<v1::TensorDesc>* descs,
                  google::protobuf::RepeatedPtrField<v1::TensorPlace>* places);

// Keeps a place that the message names, and the host that has it, unless the message has one.
void AddPlace(const TensorPlace& place, OutgoingMessage& message);

// Adds the payloads of those inputs that are in memory of the caller, and the places of others.
void AddPayloads(const std::vector<TensorView>& inputs, OutgoingMessage& message);

// Whether a result that goes to `output` would change one of the inputs: a call that does so must
// not run twice.
bool Overlaps(const TensorPlace& output, const std::vector<TensorView>& inputs);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_WIRE_TENSORS_H_
