// The verbs that ask the server about itself: operators, info, devices, health.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {

void AddOperators(Verb root, Command& command) {
  const auto operators = std::make_shared<OperatorsArguments>();
  Verb verb = root.AddVerb("operators", "List the operators, or explain one");
  verb.AddOption("NAME", "OPERATOR", TakeUtf8(operators->name), "Operator to explain");
  verb.AddOption("--search", "TEXT", TakeAny(operators->search),
                 "List only operators that have this text in name, family, summary or formula");
  verb.AddOption("--feature-level", "LEVEL", TakeUtf8(operators->feature_level),
                 "Show only what this feature level offers, such as 3_0");
  ChooseAtServer(verb, command, operators);
}

void AddInfo(Verb root, Command& command) {
  const auto info = std::make_shared<InfoArguments>();
  const Verb verb = root.AddVerb("info", "Tell version, devices and limits of the server");
  ChooseAtServer(verb, command, info);
}

void AddDevices(Verb root, Command& command) {
  const auto devices = std::make_shared<DevicesArguments>();
  Verb verb = root.AddVerb("devices", "Show the devices: state, load, faults");
  verb.AddOption("NAME", "DEVICE", TakeAny(devices->name), "Only this device");
  verb.AddFlag("--self-test", devices->self_test,
               "Test the GPUs with known answers, while they serve; exit code 5 if one fails");
  ChooseAtServer(verb, command, devices);
}

void AddHealth(Verb root, Command& command) {
  const auto health = std::make_shared<HealthArguments>();
  Verb verb = root.AddVerb("health", "Tell whether the server is serving");
  verb.AddOption("--service", "SERVICE", TakeUtf8(health->service),
                 "Service to ask about [the whole server]");
  verb.AddOption("--ready-file", "FILE", TakeAny(health->ready_file),
                 "Take the first address from this --ready-file of a server on this machine, not "
                 "from --address; --address wins over the environment's",
                 {.environment = "OPSERVE_READY_FILE"});
  AddServer(verb, health->server);
  AddJson(verb, health->json);
  verb.OnChosen([&command, health, verb]() -> std::string {
    // What is on the command line wins over the environment.
    if (verb.IsGiven("--address") && !verb.IsGiven("--ready-file")) health->ready_file.clear();
    command = *health;
    return "";
  });
}

}  // namespace opserve::cli
