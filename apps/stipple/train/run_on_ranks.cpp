// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/run_on_ranks.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/message.h"
#include "stipple/ranks/collectives.h"
#include "stipple/ranks/launched_ranks.h"

namespace stipple {

namespace {

void report(const Ranks& ranks, const std::string& reason) {
  print_error(ranks.count() > 1 ? fmt::format("rank {}: {}", ranks.rank(), reason) : reason);
}

// Ends this rank, and tells the others.
void end(LaunchedRanks& ranks, const std::string& reason) {
  report(ranks, reason);
  ranks.end_in_failure(reason);
}

// Whether the first rank has given this reason, or knows it from another rank.
bool is_told_by_first(const LaunchedRanks& ranks, const std::string& reason) {
  return ranks.failure_of(0).value_or("").find(reason) != std::string::npos;
}

// The same, if all ranks may have failed for the same reason, or another one has reported it. The first rank
// speaks even where it has only learnt of the failure of another, which may be killed before it can tell.
void end_quietly(LaunchedRanks& ranks, const std::string& reason, bool is_reported) {
  if (ranks.rank() == 0) return end(ranks, reason);
  ranks.end_in_failure(reason);
  if (!is_reported && !is_told_by_first(ranks, reason)) report(ranks, reason);
}

std::string describe(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return describe(error);
  } catch (const std::bad_alloc&) {
    return "this machine ran out of memory";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Each rank reports why it cannot join, since the others may have been able to.
std::unique_ptr<LaunchedRanks> join(int rank) try {
  return join_launched_ranks(interrupted);
} catch (const Error& error) {
  print_error(fmt::format("rank {}: {}", rank, error.what()));
  throw ReportedError(error.what());
}

}  // namespace

void run_on_ranks(const std::function<void(const RankPlace&, bool& is_under_way)>& work) {
  bool is_under_way = false;
  const std::optional<LaunchedProcess> launched = launched_process();
  if (!launched) return work({one_rank()}, is_under_way);
  const std::unique_ptr<LaunchedRanks> ranks = join(launched->rank);
  catch_interrupts();  // the launcher sends a signal when a rank has been killed
  bool is_reported = false;
  std::string reason;
  try {
    work({*ranks, ranks->local_rank(), ranks->local_count()}, is_under_way);
    is_true_on_any(*ranks, false);  // until all have finished, one may still fail
    return;
  } catch (const OptionError& error) {  // a mistake in the arguments, which should be those of all ranks
    ranks->end_in_failure(error.what());
    if (is_told_by_first(*ranks, error.what())) throw;
    reason = describe(error);
    report(*ranks, reason);
    throw ReportedError(reason);
  } catch (const RankLost& error) {
    is_reported = error.is_explained();
    reason = error.what();
  } catch (...) {
    reason = describe(std::current_exception());
  }
  is_under_way ? end(*ranks, reason) : end_quietly(*ranks, reason, is_reported);
  throw ReportedError(reason);
}

}  // namespace stipple
