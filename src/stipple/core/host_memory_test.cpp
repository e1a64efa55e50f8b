// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/host_memory.h"

#include <gtest/gtest.h>

#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

class HostMemory : public testing::Test {
 protected:
  HostMemory() {
    write("proc/meminfo", "MemTotal:       16000 kB\nMemFree:   100 kB\nMemAvailable:    8000 kB\n");
    write("proc/self/cgroup", "0::/jobs/mine\n");
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  std::size_t available() const {
    return available_host_bytes(folder_.path() / "proc", folder_.path() / "cgroup");
  }

 private:
  TestFolder folder_;
};

TEST_F(HostMemory, IsWhatTheKernelCallsAvailable) { EXPECT_EQ(available(), 8000u * 1024); }

TEST_F(HostMemory, IsLimitedByTheGroupAndTheGroupsThatItIsIn) {
  write("cgroup/jobs/mine/memory.max", "max\n");
  write("cgroup/jobs/mine/memory.current", "1000\n");
  EXPECT_EQ(available(), 8000u * 1024);
  write("cgroup/jobs/memory.max", "50000\n");
  write("cgroup/jobs/memory.current", "20000\n");
  EXPECT_EQ(available(), 30000u);
  write("cgroup/jobs/mine/memory.max", "1500\n");
  EXPECT_EQ(available(), 500u);
  write("cgroup/jobs/mine/memory.current", "2000\n");
  EXPECT_EQ(available(), 0u);
}

TEST_F(HostMemory, CopiesOfFilesMakeRoom) {
  write("cgroup/jobs/mine/memory.max", "50000\n");
  write("cgroup/jobs/mine/memory.current", "48000\n");
  write("cgroup/jobs/mine/memory.stat", "anon 1000\ninactive_file 40000\nactive_file 5\n");
  EXPECT_EQ(available(), 42000u);
}

TEST_F(HostMemory, IsLimitedByTheFirstVersionOfGroups) {
  write("cgroup/memory/memory.limit_in_bytes", "60000\n");
  write("cgroup/memory/memory.usage_in_bytes", "50000\n");
  EXPECT_EQ(available(), 10000u);
  write("cgroup/memory/memory.stat", "cache 7\ntotal_inactive_file 30000\n");
  EXPECT_EQ(available(), 40000u);
  write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(available(), 8000u * 1024);
}

TEST_F(HostMemory, IsNotKnownWithoutTheKernelsFiles) {
  write("proc/meminfo", "");
  EXPECT_EQ(available(), 0u);
  EXPECT_EQ(available_host_bytes("/nowhere", "/nowhere"), 0u);
}

TEST_F(HostMemory, ThisMachineHasSome) { EXPECT_GT(available_host_bytes(), 0u); }

}  // namespace
}  // namespace stipple
