// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the memory that a function takes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace stipple {

// Calls f in a child process, whose peak no earlier test has raised, and returns by how many MiB the resident
// memory has grown at most. Exceptions and a crash are failures. f must not use threads of this process.
template <class F>
std::size_t peak_growth_mib(F f) {
  const auto peak_kib = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss);
  };
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("cannot create a pipe for the test");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::size_t before = peak_kib();
    bool done = false;
    try {
      f();
      done = true;
    } catch (...) {
    }
    const std::size_t growth = peak_kib() - before;
    done = done && ::write(ends[1], &growth, sizeof(growth)) == sizeof(growth);
    ::_exit(done ? 0 : 1);
  }
  ::close(ends[1]);
  std::size_t growth = 0;
  const bool reported = ::read(ends[0], &growth, sizeof(growth)) == sizeof(growth);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(reported && status == 0) << "the function failed";
  return growth >> 10;
}

}  // namespace stipple
