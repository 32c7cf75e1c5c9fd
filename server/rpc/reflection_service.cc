#include "server/rpc/reflection_service.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.pb.h"
#include "opserve/rpc/status.pb.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/stream_call.h"

namespace opserve {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// Names of types and files are far shorter.
constexpr uint64_t kMaxQuestionBytes = 4 << 10;

// The details of errors as they are called on the wire; see proto/opserve/rpc/status.proto.
constexpr char kDetailsFile[] = "google/rpc/error_details.proto";
constexpr char kDetailsPackage[] = "google.rpc";

// Lets the fields of `message` refer to the types of another package.
void MoveTypes(absl::string_view from, absl::string_view to, DescriptorProto& message) {
  for (auto& field : *message.mutable_field()) {
    absl::string_view type = field.type_name();
    if (absl::ConsumePrefix(&type, from)) field.set_type_name(absl::StrCat(to, type));
  }
  for (auto& nested : *message.mutable_nested_type()) MoveTypes(from, to, nested);
}

// The file of reflection as v1; see
// https://github.com/grpc/grpc/blob/master/doc/server-reflection.md.
constexpr char kReflectionV1File[] = "grpc/reflection/v1/reflection.proto";
constexpr char kReflectionV1Package[] = "grpc.reflection.v1";

// The file that defines our details, with the names of the originals.
FileDescriptorProto ErrorDetails() {
  const FileDescriptor& ours = *rpc::Status::descriptor()->file();
  FileDescriptorProto all;
  ours.CopyTo(&all);
  FileDescriptorProto file;
  file.set_name(kDetailsFile);
  file.set_package(kDetailsPackage);
  file.set_syntax(all.syntax());
  file.add_dependency("google/protobuf/duration.proto");
  for (const DescriptorProto& message : all.message_type()) {
    // Not a detail but what holds them, which every tool knows.
    if (message.name() == rpc::Status::descriptor()->name()) continue;
    DescriptorProto& moved = *file.add_message_type();
    moved = message;
    MoveTypes(absl::StrCat(".", ours.package(), "."), absl::StrCat(".", kDetailsPackage, "."),
              moved);
  }
  return file;
}

// The file of our reflection with the names of v1.
FileDescriptorProto ReflectionV1() {
  const FileDescriptor& ours = *ServerReflectionRequest::descriptor()->file();
  FileDescriptorProto file;
  ours.CopyTo(&file);
  file.set_name(kReflectionV1File);
  file.set_package(kReflectionV1Package);
  const std::string from = absl::StrCat(".", ours.package(), ".");
  const std::string to = absl::StrCat(".", kReflectionV1Package, ".");
  for (DescriptorProto& message : *file.mutable_message_type()) MoveTypes(from, to, message);
  for (auto& service : *file.mutable_service()) {
    for (auto& method : *service.mutable_method()) {
      method.set_input_type(absl::StrReplaceAll(method.input_type(), {{from, to}}));
      method.set_output_type(absl::StrReplaceAll(method.output_type(), {{from, to}}));
    }
  }
  return file;
}

// Adds `file` and all that it needs, each once.
void AddFiles(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
              grpc::reflection::v1alpha::FileDescriptorResponse& out) {
  if (!added.insert(&file).second) return;
  FileDescriptorProto text;
  file.CopyTo(&text);
  text.SerializeToString(out.add_file_descriptor_proto());
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), added, out);
}

// As gRPC's own service says it.
absl::Status NotFound(absl::string_view kind) {
  return absl::NotFoundError(absl::StrCat(kind, " not found."));
}

void SetError(const absl::Status& status, ServerReflectionResponse& response) {
  auto& error = *response.mutable_error_response();
  error.set_error_code(static_cast<int>(status.code()));
  error.set_error_message(std::string(status.message()));
}

}  // namespace

// One answer is on its way at a time, and no question is read meanwhile.
class ReflectionService::Stream final : public StreamHandler {
 public:
  Stream(const ReflectionService& service, StreamCall& call) : service_(service), call_(call) {
    call_.Read();
  }

  void OnMessage(grpc::ByteBuffer& message) override {
    ServerReflectionRequest request;
    if (absl::Status status = ParseMessage(message, request); !status.ok()) {
      return call_.Finish(status);
    }
    call_.Write(SerializeMessage(service_.Answer(request)));
  }
  void OnMessagesEnd() override { call_.Finish(absl::OkStatus()); }
  void OnWritten() override { call_.Read(); }
  void OnOver() override {}

 private:
  const ReflectionService& service_;
  StreamCall& call_;
};

ReflectionService::ReflectionService(std::vector<std::string> services, Admission* streams,
                                     Logger* logger)
    : services_(std::move(services)),
      rpc_(ServerReflectionRequest::descriptor()->file()->service(0)->full_name(), logger),
      rpc_v1_(absl::StrCat(kReflectionV1Package, ".",
                           ServerReflectionRequest::descriptor()->file()->service(0)->name()),
              logger) {
  services_.push_back(rpc_.name());
  services_.push_back(rpc_v1_.name());
  // A program may have the originals as well.
  if (files_.FindFileByName(kDetailsFile) == nullptr) files_.BuildFile(ErrorDetails());
  if (files_.FindFileByName(kReflectionV1File) == nullptr) files_.BuildFile(ReflectionV1());
  for (RpcService* rpc : {&rpc_, &rpc_v1_}) {
    rpc->AddStream(
        "ServerReflectionInfo",
        {.role = Role::kReflection, .max_request_bytes = kMaxQuestionBytes, .admission = streams},
        [this](StreamCall& call) { return std::make_unique<Stream>(*this, call); });
  }
}

absl::StatusOr<const FileDescriptor*> ReflectionService::FindFile(
    const ServerReflectionRequest& request) const {
  const FileDescriptor* file = nullptr;
  absl::string_view kind = "File";
  if (request.has_file_by_filename()) {
    file = files_.FindFileByName(request.file_by_filename());
  } else if (request.has_file_containing_symbol()) {
    kind = "Symbol";
    file = files_.FindFileContainingSymbol(request.file_containing_symbol());
  } else {
    const auto& asked = request.file_containing_extension();
    const Descriptor* const type = files_.FindMessageTypeByName(asked.containing_type());
    if (type == nullptr) return NotFound("Type");
    kind = "Extension";
    const auto* const found = files_.FindExtensionByNumber(type, asked.extension_number());
    if (found != nullptr) file = found->file();
  }
  if (file == nullptr) return NotFound(kind);
  return file;
}

ServerReflectionResponse ReflectionService::Answer(const ServerReflectionRequest& request) const {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      for (const std::string& service : services_) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    case ServerReflectionRequest::kAllExtensionNumbersOfType: {
      const std::string& name = request.all_extension_numbers_of_type();
      const Descriptor* const type = files_.FindMessageTypeByName(name);
      if (type == nullptr) {
        SetError(NotFound("Type"), response);
        break;
      }
      std::vector<const google::protobuf::FieldDescriptor*> extensions;
      files_.FindAllExtensions(type, &extensions);
      auto& numbers = *response.mutable_all_extension_numbers_response();
      numbers.set_base_type_name(name);
      for (const auto* extension : extensions) numbers.add_extension_number(extension->number());
      break;
    }
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError(absl::UnimplementedError(""), response);
      break;
    default: {
      const absl::StatusOr<const FileDescriptor*> file = FindFile(request);
      if (!file.ok()) {
        SetError(file.status(), response);
        break;
      }
      std::set<const FileDescriptor*> added;
      AddFiles(**file, added, *response.mutable_file_descriptor_response());
    }
  }
  return response;
}

}  // namespace opserve
