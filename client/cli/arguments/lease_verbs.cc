// The verbs about leases of devices, and those of administrators: lease, leases, admin.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

constexpr char kLeaseFooter[] =
    "COMMAND finds the lease in its environment (OPSERVE_LEASE), and so does the\n"
    "client library. The lease is renewed until COMMAND ends. The exit code is\n"
    "COMMAND's; 7 where the lease ended before it, which then got SIGTERM.";

void AddDevice(Verb verb, std::string& device) {
  verb.AddOption("DEVICE", "DEVICE", TakeUtf8(device), "GPU, as `opserve devices` names it",
                 {.required = true});
}

void AddSettingAside(Verb verb, Command& command, const std::shared_ptr<SetAsideArguments>& aside) {
  AddDevice(verb, aside->device);
  verb.AddOption("--reason", "TEXT", TakeUtf8(aside->reason),
                 "Shown by `opserve devices`, up to 128 bytes");
  ChooseAtServer(verb, command, aside);
}

}  // namespace

void AddLease(Verb root, Command& command) {
  const auto lease = std::make_shared<LeaseArguments>();
  Verb verb = root.AddVerb("lease", "Have a GPU to oneself while a command runs");
  verb.SetFooter(kLeaseFooter);
  verb.AddOption("DEVICE", "DEVICE", TakeUtf8(lease->device),
                 "GPU, as `opserve devices` names it; gpu: any", {.required = true});
  verb.AddOption("COMMAND", "COMMAND", AppendAny(lease->command),
                 "What to run, after --; without it the lease is held until it ends",
                 {.repeated = true});
  verb.AddOption("--for", "DURATION", TakeDuration(lease->time),
                 "How long the lease lasts without renewal, such as 60s; the server may grant less "
                 "[60s]");
  verb.AddOption("--label", "TEXT", TakeUtf8(lease->label),
                 "Shown to administrators, up to 128 bytes");
  AddServer(verb, lease->server);
  Choose(verb, command, lease);
}

void AddLeases(Verb root, Command& command) {
  const auto leases = std::make_shared<LeasesArguments>();
  const Verb verb = root.AddVerb("leases", "List who has leased GPUs, and who waits for them");
  ChooseAtServer(verb, command, leases);
}

void AddAdmin(Verb root, Command& command) {
  Verb admin = root.AddVerb("admin", "Administer the server while it runs");
  admin.RequireVerb();
  const auto end = std::make_shared<EndLeaseArguments>();
  Verb end_verb = admin.AddVerb("end-lease", "End a lease of a GPU, or take it out of the queue");
  end_verb.AddOption("NUMBER", "NUMBER", TakeNumber<uint64_t>(1, uint64_t{1} << 53, end->number),
                     "Its number in `opserve leases`", {.required = true});
  ChooseAtServer(end_verb, command, end);
  const auto aside = std::make_shared<SetAsideArguments>();
  AddSettingAside(admin.AddVerb("set-aside", "Have a GPU take no more requests"), command, aside);
  const auto drain = std::make_shared<SetAsideArguments>();
  drain->wait = true;
  AddSettingAside(admin.AddVerb("drain", "The same, and wait until nothing runs on it"), command,
                  drain);
  const auto resume = std::make_shared<ResumeArguments>();
  const Verb resume_verb = admin.AddVerb("resume", "Have a GPU take requests again");
  AddDevice(resume_verb, resume->device);
  ChooseAtServer(resume_verb, command, resume);
}

}  // namespace opserve::cli
