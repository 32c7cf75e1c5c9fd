// A task beside threads that must not block.

#include "server/base/single_task.h"

#include <pthread.h>

#include <cstddef>
#include <future>
#include <system_error>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

// Threads as large as this cannot be made, whoever runs the test.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t attributes = before_;
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(SingleTaskTest, OneRunsAtATime) {
  std::promise<void> release;
  std::promise<void> first_told;
  std::promise<void> second_told;
  SingleTask tasks("test");
  EXPECT_TRUE(tasks.Start([&] { release.get_future().wait(); }, [&] { first_told.set_value(); }));
  const auto fail = [] { ADD_FAILURE() << "it was refused"; };
  EXPECT_FALSE(tasks.Start(fail, fail));
  release.set_value();
  first_told.get_future().wait();
  EXPECT_TRUE(tasks.Start([] {}, [&] { second_told.set_value(); }));
  second_told.get_future().wait();
}

// A shortage of threads that has passed leaves nothing behind.
TEST(SingleTaskTest, WithoutAThreadNothingRuns) {
  std::promise<void> told;
  SingleTask tasks("test");
  for (int i = 0; i < 2; ++i) {
    const auto fail = [] { ADD_FAILURE() << "there was no thread"; };
    const NoThreads none;
    EXPECT_THROW(tasks.Start(fail, fail), std::system_error);
  }
  EXPECT_TRUE(tasks.Start([] {}, [&] { told.set_value(); }));
  told.get_future().wait();
}

}  // namespace
}  // namespace opserve::testing
