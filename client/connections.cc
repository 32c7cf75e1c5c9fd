#include "client/connections.h"

#include <algorithm>

namespace opserve::client_internal {

Connections::Connections(int count, ChannelFactory make_channel, Clock& clock)
    : make_channel_(std::move(make_channel)), clock_(clock) {
  for (int i = 0; i < count; ++i) open_.push_back(MakeConnection());
}

std::shared_ptr<Connections::Connection> Connections::MakeConnection() {
  return std::make_shared<Connection>(Connection{.id = ++last_id_, .channel = make_channel_()});
}

Connections::List::iterator Connections::Find(List& list, uint64_t id) {
  return std::find_if(list.begin(), list.end(),
                      [id](const std::shared_ptr<Connection>& known) { return known->id == id; });
}

std::pair<Connections::Connection*, bool> Connections::FindUsed(uint64_t id) {
  if (const auto found = Find(open_, id); found != open_.end()) return {found->get(), false};
  return {Find(given_up_, id)->get(), true};
}

Connections::Call Connections::Begin(std::shared_ptr<grpc::ClientContext> context) {
  const std::lock_guard lock(mutex_);
  // The first of several: it is the warmest.
  Connection& connection = **std::min_element(
      open_.begin(), open_.end(), [](const auto& a, const auto& b) { return a->calls < b->calls; });
  ++connection.calls;
  connection.contexts.insert(context);
  return {std::move(context), connection.channel.get(), connection.id};
}

bool Connections::End(Call call) {
  {
    const std::lock_guard lock(mutex_);
    FindUsed(call.connection).first->contexts.erase(call.context);
  }
  // A context has a share of the channel. A thread of gRPC must not give up the last one, since it
  // would have to join itself; so the connection has to outlive the context.
  call.context.reset();
  const std::lock_guard lock(mutex_);
  const auto [connection, is_given_up] = FindUsed(call.connection);
  --connection->calls;
  if (is_given_up) DropIfIdle(call.connection);
  return is_given_up;
}

void Connections::GiveUp(uint64_t id) {
  std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
  {
    const std::lock_guard lock(mutex_);
    const auto found = Find(open_, id);
    if (found == open_.end()) return;
    contexts.assign((*found)->contexts.begin(), (*found)->contexts.end());
    given_up_.push_back(std::exchange(*found, MakeConnection()));
    DropIfIdle(id);
  }
  // Not under the lock: this may end the calls at once.
  for (const auto& context : contexts) context->TryCancel();
}

void Connections::DropIfIdle(uint64_t id) {
  const auto found = Find(given_up_, id);
  if ((*found)->calls > 0) return;
  clock_.RunAfter(absl::ZeroDuration(), [dropped = std::move(*found)] {});
  given_up_.erase(found);
}

}  // namespace opserve::client_internal
