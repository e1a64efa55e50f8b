// SPDX-License-Identifier: Apache-2.0
// A step over several ranks, which are threads here, gives the bits of a step in one process, however the
// Gaussians are divided.
#include "stipple/backend/sharded_step.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stipple/core/error.h"
#include "stipple/edit/select.h"
#include "stipple/ranks/collectives.h"
#include "tests/helpers/batch_scene.h"
#include "tests/helpers/faulty_backend.h"
#include "tests/helpers/moments.h"
#include "tests/helpers/thread_ranks.h"

namespace stipple {
namespace {

using Bounds = std::vector<std::size_t>;  // rank r has the Gaussians [bounds[r], bounds[r + 1])

Bounds even_bounds(std::size_t count, std::size_t ranks) {
  Bounds bounds;
  for (std::size_t r = 0; r <= ranks; ++r) bounds.push_back(count * r / ranks);
  return bounds;
}

std::vector<std::uint32_t> rows_between(std::size_t first, std::size_t last) {
  std::vector<std::uint32_t> rows(last - first);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
  return rows;
}

// What training leaves, on the host.
struct Trained {
  Gaussians gaussians;
  HostMoments moments;
  std::vector<Vec2f> statistics;

  Trained() = default;
  Trained(Backend& backend, const TrainState& state)
      : gaussians(download(backend, state.gaussians)),
        moments(download(backend, state.moments)),
        statistics(state.statistics.download(backend)) {}

  Trained rows(std::size_t begin, std::size_t end) const {
    const std::vector<std::uint32_t> wanted = rows_between(begin, end);
    Trained part = *this;
    keep_rows(wanted, part.gaussians);
    for_each_moment([&](int per_row, auto& array) { keep_rows(wanted, per_row, array); }, part.moments);
    keep_rows(wanted, 1, part.statistics);
    return part;
  }
  bool operator==(const Trained& o) const {
    return same_bits(gaussians, o.gaussians) && same_bits(moments, o.moments) &&
           same_bits(statistics, o.statistics);
  }
};

struct Case {
  BatchScene scene;
  std::vector<float> filter;  // empty for none
  int steps = 3;

  Case(Backend& backend, int views) : scene(backend, views) {
    scene.step.noise = 0.05f;
    scene.step.noise_seed = 7;
    scene.step.absolute_gradients = true;
  }
  void use_alterations() {
    for (View& view : scene.views) view.dropout = {0.2f, 11};
    filter = random_values(scene.gaussians.size(), 5);
    for (float& v : filter) v = 1e-4f * (1 + v);
    scene.step.adam.visible_only = true;
  }
};

// Runs the steps; each rank makes a backend and a case of its own, as a process would.
struct Outcome {
  Trained trained;
  std::vector<float> losses;
};

template <class MakeCase>
Outcome in_one_process(const std::string& on, const MakeCase& make_case) {
  auto backend = make_test_backend(on);
  const Case c = make_case(*backend);
  TrainState state = make_train_state(*backend, c.scene.gaussians);
  state.precomputed.filter_variance.upload(*backend, c.filter);
  TrainBuffers buffers;
  Outcome outcome;
  for (int i = 0; i < c.steps; ++i)
    for (const ViewResult& view : backend->train_step(state, c.scene.batch(), c.scene.step, buffers).views)
      outcome.losses.push_back(view.loss.total);
  outcome.trained = Trained(*backend, state);
  return outcome;
}

template <class MakeCase>
void expect_same(const std::string& on, const Bounds& bounds, const MakeCase& make_case) {
  const Outcome whole = in_one_process(on, make_case);
  run_as_ranks(static_cast<int>(bounds.size()) - 1, [&](Ranks& ranks) {
    auto backend = make_test_backend(on);
    const Case c = make_case(*backend);
    const auto rank = static_cast<std::size_t>(ranks.rank());
    const auto rows = rows_between(bounds[rank], bounds[rank + 1]);
    TrainState state = make_train_state(*backend, select(c.scene.gaussians, rows));
    state.part = {bounds[rank], c.scene.gaussians.size()};
    if (!c.filter.empty()) state.precomputed.filter_variance.upload(*backend, select(c.filter, rows, 1));
    TrainBuffers buffers;
    std::vector<TrainView> batch = c.scene.batch();
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (!draws_view(ranks, i)) batch[i].target = nullptr;  // nobody but the rank that draws it has it
    std::vector<float> losses;
    for (int i = 0; i < c.steps; ++i) {
      const PassResult result =
          sharded_step(*backend, *backend->link(ranks), state, batch, c.scene.step, buffers);
      EXPECT_TRUE(result.is_finite);
      for (const ViewResult& view : result.views) losses.push_back(view.loss.total);
    }
    EXPECT_TRUE(same_bits(losses, whole.losses)) << "rank " << rank;
    EXPECT_TRUE(Trained(*backend, state) == whole.trained.rows(bounds[rank], bounds[rank + 1]))
        << "rank " << rank << " of " << bounds.size() - 1;
  });
}

// Backends that give the same bits in every run.
std::vector<std::string> reproducible_backends() {
  std::vector<std::string> names = test_backend_names();
  std::erase_if(names, [](const std::string& name) { return !is_deterministic(name); });
  return names;
}

class ShardedStep : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, ShardedStep, testing::ValuesIn(reproducible_backends()),
                         [](const auto& name) { return name.param; });

TEST_P(ShardedStep, GivesTheBitsOfOneProcess) {
  const auto make = [](int views) { return [=](Backend& backend) { return Case(backend, views); }; };
  for (const std::size_t ranks : {1u, 2u, 3u, 4u}) expect_same(GetParam(), even_bounds(2003, ranks), make(4));
  expect_same(GetParam(), even_bounds(2003, 2), make(1));
  expect_same(GetParam(), even_bounds(2003, 2), make(3));
}

TEST_P(ShardedStep, KnowsTheIndexOfEveryGaussianInTheWholeModel) {
  expect_same(GetParam(), even_bounds(2003, 3), [](Backend& backend) {
    Case c(backend, 2);
    c.use_alterations();
    return c;
  });
}

// Ranks without Gaussians, with Gaussians that no view shows (900 to 1000), and without a view.
TEST_P(ShardedStep, ToleratesUnevenParts) {
  const auto two_views = [](Backend& backend) { return Case(backend, 2); };
  expect_same(GetParam(), {0, 0, 2003}, two_views);
  expect_same(GetParam(), {0, 900, 1000, 2003, 2003, 2003}, two_views);
  expect_same(GetParam(), {0, 1, 2, 2003}, two_views);
}

TEST_P(ShardedStep, RendersTheFramesOfOneProcess) {
  auto backend = make_test_backend(GetParam());
  const BatchScene scene(*backend, 3);
  const DeviceGaussians model = upload(*backend, scene.gaussians);
  std::vector<std::vector<float>> frames;
  for (const View& view : scene.views) {
    Pass pass;
    forward(*backend, model, {}, view, pass);
    frames.push_back(pass.frame.color.download(*backend));
  }
  run_as_ranks(2, [&](Ranks& ranks) {
    auto own = make_test_backend(GetParam());
    const Bounds bounds = {0, 1500, 2003};
    const auto rank = static_cast<std::size_t>(ranks.rank());
    const DeviceGaussians part =
        upload(*own, select(scene.gaussians, rows_between(bounds[rank], bounds[rank + 1])));
    std::vector<std::size_t> drawn;
    render_sharded(*own, *own->link(ranks), part, {}, scene.views, [&](std::size_t view, Pass& pass) {
      drawn.push_back(view);
      EXPECT_TRUE(same_bits(pass.frame.color.download(*own), frames[view])) << view;
    });
    EXPECT_EQ(drawn, rank == 0 ? std::vector<std::size_t>({0, 2}) : std::vector<std::size_t>({1}));
  });
}

// The model of the traffic in docs/scaling.md: of each view, every rank but the one that draws it sends its
// splats, and gets as many gradients back.
TEST(ShardedStepOnTheCpu, SendsTheSplatsOfOtherViewsAndTheirGradients) {
  for (const std::size_t rank_count : {1u, 2u, 3u, 5u})
    for (const bool has_absolute : {false, true})
      run_as_ranks(static_cast<int>(rank_count), [&](Ranks& ranks) {
        auto backend = make_backend("cpu");
        BatchScene scene(*backend, 4);
        scene.step.absolute_gradients = has_absolute;
        const Bounds bounds = even_bounds(scene.gaussians.size(), rank_count);
        const auto rank = static_cast<std::size_t>(ranks.rank());
        TrainState state =
            make_train_state(*backend, select(scene.gaussians, rows_between(bounds[rank], bounds[rank + 1])));
        state.part = {bounds[rank], scene.gaussians.size()};
        std::uint64_t shown = 0;  // of the views that others draw
        for (std::size_t v = 0; v < scene.views.size(); ++v) {
          Pass pass;
          backend->project(state.gaussians, {}, scene.views[v], pass);
          if (!draws_view(ranks, v)) shown += pass.projection.splat.size();
        }
        TrainBuffers buffers;
        const PassResult result =
            sharded_step(*backend, *backend->link(ranks), state, scene.batch(), scene.step, buffers);
        const std::uint64_t all = sum_over_ranks(ranks, shown).total;
        EXPECT_EQ(result.exchanged_bytes, all * (64 + 40 + (has_absolute ? 8 : 0)));
        EXPECT_EQ(all > 0, rank_count > 1);
      });
}

TEST(ShardedStepOnTheCpu, OneNonFiniteViewStopsTheStepOnEveryRank) {
  run_as_ranks(3, [](Ranks& ranks) {
    FaultyBackend backend(Fault::kGradient, ranks.rank() == 1 ? 1 : 0, ranks.rank() == 1 ? 1 : 0);
    BatchScene scene(backend, 3);
    scene.step.noise = 1e-3f;
    const Bounds bounds = even_bounds(scene.gaussians.size(), 3);
    const auto rank = static_cast<std::size_t>(ranks.rank());
    const Gaussians part = select(scene.gaussians, rows_between(bounds[rank], bounds[rank + 1]));
    TrainState state = make_train_state(backend, part);
    state.part = {bounds[rank], scene.gaussians.size()};
    TrainBuffers buffers;
    EXPECT_FALSE(
        sharded_step(backend, *backend.link(ranks), state, scene.batch(), scene.step, buffers).is_finite);
    EXPECT_FALSE(buffers.has_begun_update);
    EXPECT_TRUE(same_bits(download(backend, state.gaussians), part));
    EXPECT_TRUE(
        sharded_step(backend, *backend.link(ranks), state, scene.batch(), scene.step, buffers).is_finite);
    EXPECT_FALSE(same_bits(download(backend, state.gaussians), part));
  });
}

TEST(ShardedStepOnTheCpu, ARankThatEndsEndsTheStepOfTheOthers) {
  std::vector<std::string> errors(3);
  EXPECT_THROW(run_as_ranks(3,
                            [&](Ranks& ranks) {
                              auto backend = make_backend("cpu");
                              const BatchScene scene(*backend, 3);
                              TrainState state = make_train_state(*backend, scene.gaussians);
                              TrainBuffers buffers;
                              if (ranks.rank() == 2) throw Error("rank 2 fails");
                              try {
                                sharded_step(*backend, *backend->link(ranks), state, scene.batch(),
                                             scene.step, buffers);
                              } catch (const Error& error) {
                                errors[static_cast<std::size_t>(ranks.rank())] = error.what();
                                throw;
                              }
                            }),
               Error);
  EXPECT_EQ(errors[0], "another rank has ended");
  EXPECT_EQ(errors[1], "another rank has ended");
}

TEST(ShardedStepOnTheCpu, RefusesTheGradientsOfCameras) {
  auto backend = make_backend("cpu");
  const BatchScene scene(*backend, 1);
  TrainState state = make_train_state(*backend, scene.gaussians);
  TrainBuffers buffers;
  TrainStep step = scene.step;
  step.wants_camera = true;
  EXPECT_THROW(sharded_step(*backend, *backend->link(one_rank()), state, scene.batch(), step, buffers),
               Error);
}

TEST(Collectives, GiveEveryRankTheSame) {
  run_as_ranks(4, [](Ranks& ranks) {
    const int rank = ranks.rank();
    const std::vector<int> own(static_cast<std::size_t>(rank), rank);  // rank r has r values
    EXPECT_EQ(gather_values(ranks, std::span(own)), (std::vector<int>{1, 2, 2, 3, 3, 3}));
    EXPECT_EQ(gather_value(ranks, 10 * rank), (std::vector<int>{0, 10, 20, 30}));
    const RankSum sum = sum_over_ranks(ranks, static_cast<std::uint64_t>(rank) + 1);
    EXPECT_EQ(sum.total, 10u);
    EXPECT_EQ(sum.before, (std::vector<std::uint64_t>{0, 1, 3, 6})[static_cast<std::size_t>(rank)]);
    EXPECT_TRUE(is_true_on_any(ranks, rank == 2));
    EXPECT_FALSE(is_true_on_any(ranks, false));
  });
}

}  // namespace
}  // namespace stipple
