// A client of several hosts in this process: at socket files and at an address, which call
// themselves what they like.

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/errors.h"
#include "opserve/stream.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "server/errors/errors.h"
#include "server/rpc/rpc_status.h"
#include "server/service/server.h"
#include "tests/integration/client_fixture.h"
#include "tests/integration/wait_until.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClientHostsTest : public ::testing::Test {
 protected:
  static constexpr size_t kHosts = 3;

  void SetUp() override {
    char pattern[] = "/tmp/opserve-hosts-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  void TearDown() override {
    for (std::unique_ptr<Server>& server : servers_) server.reset();
    std::filesystem::remove_all(folder_);
  }

  // The last is at an address, the others are at socket files.
  void Start(bool advertises) {
    for (size_t i = 0; i < kHosts; ++i) StartHost(i, advertises);
  }
  void StartHost(size_t i, bool advertises, ServerOptions options = {},
                 const ServerEnvironment& environment = {}) {
    options.listen = {i + 1 < kHosts ? absl::StrCat("unix:", folder_, "/", i) : "127.0.0.1:0"};
    if (advertises) options.advertise = NameOfHost(i);
    auto server = Server::Start(options, environment);
    ASSERT_TRUE(server.ok()) << server.status();
    servers_[i] = *std::move(server);
    addresses_[i] = servers_[i]->addresses().front();
  }

  static std::string NameOfHost(size_t i) { return absl::StrCat("host", i, ".example:50051"); }

  static std::unique_ptr<Client> Connect(const std::string& target) {
    auto client = Client::Connect(target, {.client_name = "me"});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<Client> ConnectToAll() const { return Connect(absl::StrJoin(addresses_, ",")); }

  // Requests that each host has answered, once all of them are connected.
  std::vector<uint64_t> Answered() const {
    std::vector<uint64_t> answered;
    for (const std::string& address : addresses_) {
      const auto info = Connect(address)->GetServerInfo();
      EXPECT_TRUE(info.ok()) << info.status();
      answered.push_back(info->devices.front().counters.requests);
    }
    return answered;
  }

  std::string folder_;
  NullDeviceFactory gpu_{NullProfile("null/0", /*is_software=*/true)};
  std::array<std::unique_ptr<Server>, kHosts> servers_;
  std::array<std::string, kHosts> addresses_;
};

TEST_F(ClientHostsTest, CallsGoToAllHostsAndEachIsAnsweredOnce) {
  Start(/*advertises=*/true);
  const auto client = ConnectToAll();
  const Floats x = {0.5f, 1.5f};
  uint64_t calls = 0;
  // They connect while the first ones are answered by whoever is there.
  do {
    for (int i = 0; i < 30; ++i, ++calls) {
      const auto y = client->Execute(Round(ViewOf(x)));
      ASSERT_TRUE(y.ok()) << y.status();
    }
  } while (std::ranges::min(Answered()) == 0 && calls < 100000);
  const std::vector<uint64_t> answered = Answered();
  EXPECT_THAT(answered, Each(Gt(0)));
  EXPECT_EQ(answered[0] + answered[1] + answered[2], calls);
}

TEST_F(ClientHostsTest, AHostThatIsGoneIsDoneWithout) {
  Start(/*advertises=*/true);
  const auto client = ConnectToAll();
  const Floats x = {0.5f, 1.5f};
  for (const size_t gone : {0, 2}) {
    servers_[gone].reset();
    for (int i = 0; i < 50; ++i) {
      const auto y = client->Execute(Round(ViewOf(x)));
      ASSERT_TRUE(y.ok()) << y.status();
      auto started = client->StartExecute(Round(ViewOf(x)));
      ASSERT_TRUE(started.Wait().ok()) << started.Wait().status();
    }
  }
  // Also by who comes later.
  EXPECT_TRUE(ConnectToAll()->Execute(Round(ViewOf(x))).ok());
}

TEST_F(ClientHostsTest, WithoutAnyHostTheErrorSaysWhyAndOfWhich) {
  const auto nobody = Client::Connect(absl::StrCat("unix:", folder_, "/x,unix:", folder_, "/y"));
  EXPECT_TRUE(absl::IsUnavailable(nobody.status())) << nobody.status();
  EXPECT_EQ(GetErrorReason(nobody.status()), kUnknownHost) << nobody.status();
  EXPECT_THAT(GetErrorHost(nobody.status()), HasSubstr(folder_)) << nobody.status();
  EXPECT_THAT(Describe(nobody.status()), HasSubstr("said by: unix:")) << nobody.status();
}

TEST_F(ClientHostsTest, AnErrorOfAllHostsTellsTheLastOne) {
  Start(/*advertises=*/true);
  const auto y = ConnectToAll()->Execute({.operator_name = "NO_SUCH_OPERATOR"});
  EXPECT_EQ(GetErrorReason(y.status()), "OPERATOR_NOT_FOUND");
  EXPECT_NE(GetErrorHost(y.status()), "");
  EXPECT_THAT(GetOtherHosts(y.status()), IsEmpty());
  const auto one = Connect(addresses_[0])->Execute({.operator_name = "NO_SUCH_OPERATOR"});
  EXPECT_EQ(GetErrorHost(one.status()), "");
}

// A server of an earlier version: it knows no operator, and no method but Execute.
class EarlierServer {
 public:
  explicit EarlierServer(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~EarlierServer() { server_->Shutdown(); }
  EarlierServer(const EarlierServer&) = delete;
  EarlierServer& operator=(const EarlierServer&) = delete;

  // Calls of Execute so far.
  int refused() const { return service_.refused; }

 private:
  struct Service final : v1::OperatorService::Service {
    grpc::Status Execute(grpc::ServerContext* /*context*/, const v1::ExecuteRequest* request,
                         v1::ExecuteResponse* /*response*/) override {
      ++refused;
      const Violation unknown = {"operator", "There is no such operator."};
      return ToGrpcStatus(MakeViolationError({&unknown, 1}, request->operator_()));
    }
    std::atomic<int> refused = 0;
  };

  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ClientHostsTest, WhatAnEarlierHostDoesNotKnowTheOtherIsAskedFor) {
  StartHost(0, /*advertises=*/true);
  const std::string address = absl::StrCat("unix:", folder_, "/earlier");
  const EarlierServer earlier(address);
  const auto client = Connect(absl::StrCat(address, ",", addresses_[0]));
  const Floats x = {0.5f, 1.5f};
  int calls = 0;
  // The other may connect first, and have all calls until then.
  while ((earlier.refused() < 3 || calls < 20) && calls < 100000) {
    const auto y = client->Execute(Round(ViewOf(x)));
    ASSERT_TRUE(y.ok()) << y.status();
    auto started = client->StartExecute(Round(ViewOf(x)));
    ASSERT_TRUE(started.Wait().ok()) << started.Wait().status();
    calls += 2;
    // A method that it lacks.
    const auto catalogue = client->ListOperators();
    ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  }
  EXPECT_GE(earlier.refused(), 3);
  // None came to the other twice.
  const auto info = Connect(addresses_[0])->GetServerInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->devices.front().counters.requests, calls);
}

TEST_F(ClientHostsTest, WhereHostsDifferTheErrorTellsWhatEachSaid) {
  StartHost(0, /*advertises=*/true);
  const std::string address = absl::StrCat("unix:", folder_, "/earlier");
  const EarlierServer earlier(address);
  const auto client = Connect(absl::StrCat(address, ",", addresses_[0]));
  const Floats x = {0.5f, 1.5f};
  OperatorCall wrong = Round(ViewOf(x));
  wrong.attributes = {{"NoSuchAttribute", "x"}};
  absl::Status status;
  for (int i = 0; i < 100000 && GetOtherHosts(status).empty(); ++i) {
    status = client->Execute(wrong).status();
    ASSERT_FALSE(status.ok());
  }
  // That of the host that knows the operator is the last.
  EXPECT_EQ(GetErrorReason(status), "INVALID_REQUEST") << status;
  EXPECT_THAT(GetErrorHost(status), HasSubstr(addresses_[0]));
  EXPECT_THAT(GetOtherHosts(status),
              ElementsAre(HasSubstr(absl::StrCat(address, ": OPERATOR_NOT_FOUND"))));

  servers_[0].reset();
  const absl::Status alone = client->Execute(Round(ViewOf(x))).status();
  EXPECT_EQ(GetErrorReason(alone), "OPERATOR_NOT_FOUND") << alone;
  EXPECT_THAT(GetErrorHost(alone), HasSubstr(address));
}

TEST_F(ClientHostsTest, WhatOneHostHasNoRoomForTheOtherTakes) {
  ServerOptions small;
  small.max_message_bytes = 8192;
  StartHost(0, /*advertises=*/true, small);
  StartHost(1, /*advertises=*/true);
  const auto client = Connect(absl::StrCat(addresses_[0], ",", addresses_[1]));
  const Floats x(10000, 1.5f);
  int moved = 0;
  for (int calls = 0; (moved < 3 || calls < 20) && calls < 100000; ++calls) {
    ExecutionInfo info;
    const auto y = client->Execute(Round(ViewOf(x)), {}, &info);
    ASSERT_TRUE(y.ok()) << y.status();
    moved += info.sends > 1 ? 1 : 0;
  }
  EXPECT_GE(moved, 3);
  const auto alone = Connect(addresses_[0])->Execute(Round(ViewOf(x)));
  EXPECT_TRUE(absl::IsResourceExhausted(alone.status())) << alone.status();
}

TEST_F(ClientHostsTest, WhatNeedsAGpuGoesToAHostThatHasOne) {
  StartHost(0, /*advertises=*/true);
  StartHost(1, /*advertises=*/true, {}, {.find_gpus = gpu_.finder()});
  const auto owner = Connect(addresses_[1]);
  ASSERT_TRUE(WaitUntil([&owner] {
    const auto info = owner->GetServerInfo();
    return info.ok() && info->devices.back().kind == DeviceInfo::Kind::kGpu &&
           info->devices.back().state == DeviceInfo::State::kReady;
  }));
  const auto client = Connect(absl::StrCat(addresses_[0], ",", addresses_[1]));
  const Floats x = {0.5f, 1.5f};
  OperatorCall call = Round(ViewOf(x));
  call.device = DevicePreference::kGpu;
  int moved = 0;
  for (int calls = 0; (moved < 3 || calls < 20) && calls < 100000; ++calls) {
    ExecutionInfo info;
    const auto y = client->Execute(call, {}, &info);
    ASSERT_TRUE(y.ok()) << y.status();
    moved += info.sends > 1 ? 1 : 0;
  }
  EXPECT_GE(moved, 3);
}

// Tensors with `value`, of which each host has at least one.
std::vector<TensorHandle> TensorsOfAll(Client& client, float value, size_t hosts) {
  std::vector<TensorHandle> tensors;
  std::set<std::string> of;
  const Floats x = {value};
  while (of.size() < hosts && tensors.size() < 1000) {
    const auto tensor = client.CreateTensor(ViewOf(x));
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    if (!tensor.ok()) break;
    tensors.push_back(tensor->handle);
    of.emplace(HostOf(tensor->handle.id));
  }
  EXPECT_EQ(of.size(), hosts);
  return tensors;
}

TEST_F(ClientHostsTest, CallsAboutATensorGoStraightToItsHost) {
  Start(/*advertises=*/true);
  const auto client = ConnectToAll();
  const Floats written = {3.5f};
  for (const TensorHandle& tensor : TensorsOfAll(*client, 2.5f, kHosts)) {
    const auto rounded = client->Execute(Round(TensorView::At(tensor)));
    ASSERT_TRUE(rounded.ok()) << rounded.status();
    EXPECT_EQ((*rounded->Elements<float>())[0], 2.0f);
    ASSERT_TRUE(client->ExecuteTo(Round(TensorView::At(tensor)), tensor).ok());
    ASSERT_TRUE(client->WriteTensor(tensor, 0, std::as_bytes(std::span(written))).ok());
    const auto content = client->ReadTensor(tensor);
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ((*content->Elements<float>())[0], 3.5f);
    EXPECT_TRUE(client->RenewTensors({tensor}, absl::Minutes(1)).ok());
    auto stream = client->OpenStream({.host = std::string(HostOf(tensor.id))});
    ASSERT_TRUE(stream.ok()) << stream.status();
    const auto streamed = (*stream)->Start(Round(TensorView::At(tensor))).Wait();
    EXPECT_TRUE(streamed.ok()) << streamed.status();
    EXPECT_EQ(*client->DeleteTensors({tensor}), 1u);
  }
}

TEST_F(ClientHostsTest, AHostThatWasStartedAnewUnderAnotherNameKeepsTensors) {
  StartHost(0, /*advertises=*/true);
  const auto client = Connect(addresses_[0]);
  TensorsOfAll(*client, 2.5f, 1);
  servers_[0].reset();
  ServerOptions renamed;
  renamed.listen = {addresses_[0]};
  renamed.advertise = "renamed.example:50051";
  auto server = Server::Start(renamed);
  ASSERT_TRUE(server.ok()) << server.status();
  servers_[0] = *std::move(server);
  const Floats x = {2.5f};
  // Once it has noticed.
  ASSERT_TRUE(WaitUntil([&] { return client->Execute(Round(ViewOf(x))).ok(); }));
  const auto tensor = client->CreateTensor(ViewOf(x));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(HostOf(tensor->handle.id), renamed.advertise);
  const auto rounded = client->Execute(Round(TensorView::At(tensor->handle)));
  EXPECT_TRUE(rounded.ok()) << rounded.status();
}

TEST_F(ClientHostsTest, AStreamThatWasRefusedLeadsTheNextOneToTheRightHost) {
  const std::string shared = absl::StrCat("unix:", folder_, "/shared");
  ServerOptions options;
  options.advertise = absl::StrCat("unix:", folder_, "/own");
  options.listen = {options.advertise, shared};
  auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  servers_[0] = *std::move(server);
  auto connected = Client::Connect(shared, {.client_name = "me", .channels = 2});
  ASSERT_TRUE(connected.ok()) << connected.status();
  Client& client = **connected;
  const TensorHandle tensor = TensorsOfAll(client, 2.5f, 1).front();

  // As behind a proxy: the second connection leads to another host. The first one has a stream.
  std::filesystem::remove(folder_ + "/shared");
  options.listen = {shared};
  options.advertise = NameOfHost(1);
  server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  servers_[1] = *std::move(server);
  const auto busy = client.OpenStream();
  ASSERT_TRUE(busy.ok()) << busy.status();

  const auto ask = [&] {
    auto stream = client.OpenStream({.host = std::string(HostOf(tensor.id))});
    EXPECT_TRUE(stream.ok()) << stream.status();
    return (*stream)->Start(Round(TensorView::At(tensor))).Wait().status();
  };
  const absl::Status refused = ask();
  EXPECT_EQ(GetErrorReason(refused), kWrongHost) << refused;
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = ask();
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(ClientHostsTest, AHostThatIsAskedForWhatAnotherHasSaysWhich) {
  Start(/*advertises=*/true);
  const auto client = ConnectToAll();
  const std::vector<TensorHandle> tensors = TensorsOfAll(*client, 1, kHosts);
  std::vector<TensorHandle> foreign;
  for (const TensorHandle& tensor : tensors) {
    if (HostOf(tensor.id) != NameOfHost(0)) foreign.push_back(tensor);
  }
  const auto alone = Connect(addresses_[0]);
  const auto expect_wrong = [&](const absl::Status& status) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(GetErrorReason(status), kWrongHost) << status;
    EXPECT_THAT(Describe(status), HasSubstr(absl::StrCat("host: ", HostOf(foreign[0].id))));
  };
  expect_wrong(alone->ReadTensor(foreign[0]).status());
  expect_wrong(alone->Execute(Round(TensorView::At(foreign[0]))).status());
  expect_wrong(alone->RenewTensors({foreign[0]}, absl::Minutes(1)).status());
  expect_wrong(alone->DeleteTensors({foreign[0]}).status());
  OperatorCall leased = Round(TensorView::At(foreign[0]));
  leased.device_lease = foreign[0].id;
  expect_wrong(alone->Execute(leased).status());
  expect_wrong(alone->RenewLease(foreign[0].id, absl::Minutes(1)).status());
  // Nothing is deleted of a list that has tensors of several hosts.
  const auto deleted = client->DeleteTensors(tensors);
  EXPECT_EQ(GetErrorReason(deleted.status()), kWrongHost) << deleted.status();
  for (const TensorHandle& tensor : tensors) EXPECT_TRUE(client->ReadTensor(tensor).ok());
}

TEST_F(ClientHostsTest, RegionsAreOfTheHostOnThisMachine) {
  Start(/*advertises=*/true);
  const auto client = ConnectToAll();
  const auto region = client->CreateRegion(4096);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ(HostOf(region->range(0, 4).id()), NameOfHost(0));
  region->range(0, 4).values<float>()[0] = 2.5f;
  for (int i = 0; i < 10; ++i) {
    const auto y =
        client->Execute(Round(TensorView::At(region->range(0, 4), {DataType::kFloat32, {1}, {}})));
    ASSERT_TRUE(y.ok()) << y.status();
  }
}

TEST_F(ClientHostsTest, LaterRegionsAreOfTheHostOnThisMachineToo) {
  Start(/*advertises=*/true);
  // The first host of the target is none that counts as one of this machine, and nobody is there.
  const auto client = Connect(absl::StrCat("0.0.0.0:1,", addresses_[0]));
  for (int i = 0; i < 2; ++i) {
    const auto region = client->CreateRegion(4096);
    ASSERT_TRUE(region.ok()) << region.status();
    const auto y =
        client->Execute(Round(TensorView::At(region->range(0, 4), {DataType::kFloat32, {1}, {}})));
    EXPECT_TRUE(y.ok()) << y.status();
  }
}

TEST_F(ClientHostsTest, LargeTensorsTravelToHostsInTurn) {
  Start(/*advertises=*/true);
  // Nobody is at the second, so that all calls go to one that would share its memory.
  const auto client = Connect(absl::StrCat(addresses_[0], ",unix:", folder_, "/nobody"));
  const Floats x(100000, 1.5f);
  for (int i = 0; i < 2; ++i) {
    ExecutionInfo info;
    const auto y = client->Execute(Round(ViewOf(x)), {}, &info);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(info.path, PayloadPath::kMessage);
  }
}

TEST_F(ClientHostsTest, WithoutAddressesNothingIsKept) {
  Start(/*advertises=*/false);
  const Floats x = {1};
  const auto client = ConnectToAll();
  EXPECT_TRUE(client->Execute(Round(ViewOf(x))).ok());
  EXPECT_EQ(GetErrorReason(client->CreateTensor(ViewOf(x)).status()), kHostNotAdvertised);
  EXPECT_EQ(GetErrorReason(client->CreateRegion(4096).status()), kHostNotAdvertised);
  EXPECT_TRUE(Connect(addresses_[0])->CreateTensor(ViewOf(x)).ok());
}

TEST_F(ClientHostsTest, CallsAboutOneHostAreNotMadeOfAny) {
  Start(/*advertises=*/true);
  const auto client = ConnectToAll();
  for (const absl::Status& status :
       {client->ListTensors().status(), client->ListLeases().status(), client->EndLease(1),
        client->SetDeviceAside("cpu", "why"), client->DrainDevice("cpu", "why"),
        client->ResumeDevice("cpu"), client->SelfTestDevices("").status(),
        client->StartListTensors().Wait().status(), client->StartEndLease(1).Wait()}) {
    EXPECT_EQ(GetErrorReason(status), kOneHostNeeded) << status;
  }
  EXPECT_TRUE(client->GetServerInfo().ok());
  EXPECT_TRUE(Connect(addresses_[0])->ListTensors().ok());
}

TEST_F(ClientHostsTest, AnAddressMustBeOneThatClientsCanGoTo) {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.advertise = "0.0.0.0:50051";
  const auto server = Server::Start(options);
  EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << server.status();
}

}  // namespace
}  // namespace opserve::testing
