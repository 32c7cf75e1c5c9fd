// Which connections use CUBIC, and that gRPC's do.

#include <chrono>
#include <memory>
#include <string>

#include "grpcpp/create_channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/transport/loopback_tuning.h"
#include "proto/transport/socket_mutator_abi.h"
#include "server/edge/edge.h"
#include "tests/unit/proto/transport/sockets.h"

namespace opserve::testing {
namespace {

// What every Linux kernel has, and nobody sets.
constexpr char kOther[] = "reno";

// What gRPC would call with its sockets; nullptr where the arguments have none.
grpc_socket_mutator* MutatorOf(const grpc::ChannelArguments& arguments) {
  const grpc_channel_args all = arguments.c_channel_args();
  for (size_t i = 0; i < all.num_args; ++i) {
    if (std::string(all.args[i].key) == GRPC_ARG_SOCKET_MUTATOR) {
      return static_cast<grpc_socket_mutator*>(all.args[i].value.pointer.p);
    }
  }
  return nullptr;
}

// What `fd` uses after gRPC got it for `usage`.
std::string AfterTuning(int fd, grpc_fd_usage usage) {
  grpc::ChannelArguments arguments;
  TuneServerLoopback(arguments);
  grpc_socket_mutator* const mutator = MutatorOf(arguments);
  const grpc_mutate_socket_info info = {fd, usage};
  // False would end the connection.
  EXPECT_TRUE(mutator != nullptr && mutator->vtable->mutate_fd_2(&info, mutator));
  return CongestionControlOf(fd);
}

class LoopbackTuningTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanTuneLoopback()) GTEST_SKIP() << "another gRPC than the one whose means are known";
    const UniqueFd fd = TcpSocket(AF_INET);
    if (!UseCongestionControl(fd.get(), "cubic") || !UseCongestionControl(fd.get(), kOther)) {
      GTEST_SKIP() << "this kernel lacks cubic or " << kOther;
    }
  }

  // What the server's end uses after the edge or gRPC accepted it, who must agree.
  static std::string AfterAccept(const std::optional<Connection>& connection) {
    const int fd = connection->server.get();
    EXPECT_TRUE(UseCongestionControl(fd, kOther));
    TuneAcceptedLoopback(fd);
    std::string by_edge = CongestionControlOf(fd);
    EXPECT_TRUE(UseCongestionControl(fd, kOther));
    EXPECT_EQ(AfterTuning(fd, GRPC_FD_SERVER_CONNECTION_USAGE), by_edge);
    return by_edge;
  }
};

TEST_F(LoopbackTuningTest, AcceptedConnectionsFromThisMachineUseCubic) {
  const auto connection = Connect(Ipv4Loopback(), AF_INET);
  ASSERT_TRUE(connection);
  EXPECT_EQ(AfterAccept(connection), "cubic");
}

TEST_F(LoopbackTuningTest, SoDoThoseOverIpv6) {
  const auto connection = Connect(Ipv6Loopback(), AF_INET6);
  if (!connection) GTEST_SKIP() << "no IPv6 on this machine";
  EXPECT_EQ(AfterAccept(connection), "cubic");
}

TEST_F(LoopbackTuningTest, SoDoThoseOfIpv4AtAnIpv6Listener) {
  const auto connection = Connect(Ipv4Loopback(), AF_INET6);
  if (!connection) GTEST_SKIP() << "no IPv6 on this machine";
  EXPECT_EQ(AfterAccept(connection), "cubic");
}

TEST_F(LoopbackTuningTest, OtherConnectionsStayAsTheyAre) {
  const auto address = OutsideAddress();
  if (!address) GTEST_SKIP() << "this machine has no address but loopback";
  const auto connection = Connect(*address, AF_INET);
  ASSERT_TRUE(connection);
  EXPECT_EQ(AfterAccept(connection), kOther);
}

TEST_F(LoopbackTuningTest, ListenersStayAsTheyAre) {
  const UniqueFd fd = TcpSocket(AF_INET);
  ASSERT_TRUE(UseCongestionControl(fd.get(), kOther));
  EXPECT_EQ(AfterTuning(fd.get(), GRPC_FD_SERVER_LISTENER_USAGE), kOther);
}

TEST_F(LoopbackTuningTest, UnixSocketsWorkAsBefore) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd first(ends[0]);
  const UniqueFd second(ends[1]);
  EXPECT_EQ(AfterTuning(first.get(), GRPC_FD_SERVER_CONNECTION_USAGE), "");
  EXPECT_EQ(AfterTuning(second.get(), GRPC_FD_CLIENT_CONNECTION_USAGE), "");
  EXPECT_EQ(send(first.get(), "x", 1, MSG_NOSIGNAL), 1);
}

TEST_F(LoopbackTuningTest, ClientsTuneWhereTheTargetIsThisMachine) {
  const UniqueFd fd = TcpSocket(AF_INET);
  ASSERT_TRUE(UseCongestionControl(fd.get(), kOther));
  EXPECT_EQ(AfterTuning(fd.get(), GRPC_FD_CLIENT_CONNECTION_USAGE), "cubic");
  for (const std::string target : {"localhost:1", "127.0.0.1:1", "127.1.2.3:1", "[::1]:1"}) {
    grpc::ChannelArguments arguments;
    TuneClientLoopback(target, arguments);
    EXPECT_NE(MutatorOf(arguments), nullptr) << target;
  }
  for (const std::string target : {"192.0.2.1:1", "128.0.0.1:1", "127.0.0.1.example.org:1",
                                   "[2001:db8::1]:1", "unix:/tmp/localhost:1", ""}) {
    grpc::ChannelArguments arguments;
    TuneClientLoopback(target, arguments);
    EXPECT_EQ(MutatorOf(arguments), nullptr) << target;
  }
}

// Where CUBIC is the default anyway, this only shows that nothing breaks.
TEST_F(LoopbackTuningTest, BothEndsOfAConnectionToTheServerUseCubic) {
  // Without a service there is no server.
  grpc::CallbackGenericService service;
  Logger logger(LogFormat::kText, LogLevel::kError);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  ListenAddress address;
  address.host = "127.0.0.1";
  const auto edge = Edge::Listen({address}, {}, false, logger);
  ASSERT_TRUE(edge.ok()) << edge.status();
  (*edge)->AddTo(builder, grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  (*edge)->Start(*server);
  const std::string target = (*edge)->addresses().front().ToString();
  grpc::ChannelArguments arguments;
  TuneClientLoopback(target, arguments);
  const auto channel =
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  // Connected is who has seen the other end's settings, so both ends are there.
  ASSERT_TRUE(
      channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(30)));
  // The edge has a duplicate of its end.
  EXPECT_EQ(CongestionControls(), (std::multiset<std::string>{"cubic", "cubic", "cubic"}));
  (*edge)->StopAccepting();
  server->Shutdown();
}

}  // namespace
}  // namespace opserve::testing
