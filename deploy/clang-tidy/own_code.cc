// A plugin of clang-tidy: its checks look at what the project's own files declare, and no longer at
// what is in headers of libraries. clang-tidy never tells what it finds there, but looks all the
// same, and with the headers of gRPC and GoogleTest that is most of what it does.
// deploy/run-clang-tidy.py compiles and loads it.

#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

class OwnCodeCheck final : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl(), this);
  }

  // The unit itself is matched first: from then on, all checks see these parts of it alone.
  void check(const MatchFinder::MatchResult& result) override {
    const clang::SourceManager& sources = *result.SourceManager;
    std::vector<clang::Decl*> own;
    for (clang::Decl* part : result.Context->getTranslationUnitDecl()->decls()) {
      // Where a macro is used, not where it is defined.
      const clang::SourceLocation place = sources.getExpansionLoc(part->getLocation());
      if (!sources.isInSystemHeader(place)) own.push_back(part);
    }
    result.Context->setTraversalScope(own);
  }
};

class OwnCodeModule final : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnCodeCheck>("opserve-own-code");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<OwnCodeModule> registered("opserve", "");

}  // namespace
