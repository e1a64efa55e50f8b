// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/sharded_step.h"

#include <algorithm>

#include "stipple/backend/exchange.h"
#include "stipple/backend/step_stages.h"
#include "stipple/core/error.h"
#include "stipple/ranks/collectives.h"

namespace stipple {

namespace {

// A round of views, of which this rank draws at most one.
struct Round {
  std::size_t first, count;
  std::size_t own;  // the place in the round of the view that this rank would draw

  Round(const Ranks& ranks, std::size_t first_view, std::size_t view_count)
      : first(first_view),
        count(std::min(static_cast<std::size_t>(ranks.count()), view_count - first_view)),
        own(static_cast<std::size_t>(ranks.rank())) {}
  bool is_drawn_here() const { return own < count; }
  std::size_t drawn() const { return first + own; }  // among all views
};

// For project, which then makes room for exactly the splats that the exchange takes.
View without_id(View view) {
  view.id = kNoView;
  return view;
}

// One step on one rank.
class Step {
 public:
  Step(Backend& backend, RankLink& link, TrainState& state, std::span<const TrainView> views,
       const TrainStep& options, TrainBuffers& buffers)
      : backend_(backend),
        ranks_(link.ranks()),
        state_(state),
        views_(views),
        options_(options),
        buffers_(buffers),
        wanted_(wanted_for(options)),
        exchange_(backend, link),
        results_(views.size()) {
    wanted_.splats = true;  // the gradients travel in the public format
  }

  PassResult run() {
    backend_.begin(buffers_.pass, static_cast<int>(views_.size()));
    buffers_.sum.is_empty = true;
    for (std::size_t first = 0; first < views_.size(); first += static_cast<std::size_t>(ranks_.count())) {
      const Round round(ranks_, first, views_.size());
      project(round);
      if (round.is_drawn_here()) draw(views_[round.drawn()], results_[round.drawn()]);
      exchange_.send_back(round.is_drawn_here() ? &buffers_.drawn : nullptr, wanted_);
      project_backward(round);
    }
    PassResult result = gather_results();
    if (result.is_finite) update();
    add_times(backend_.read(buffers_.pass).ms);
    times_[static_cast<std::size_t>(Stage::kExchange)] += exchange_.ms();
    result.ms = times_;
    return result;
  }

 private:
  struct DrawnView {
    ViewResult result;
    bool is_finite = true;
    std::uint64_t sent_bytes = 0;  // of the whole step, with the first view
  };

  // Of several views, only the last projection would be left for project_backward, so that it projects again:
  // that takes less time than to keep all of them takes memory. One view is projected once.
  void project(const Round& round) {
    Pass& pass = round.count == 1 ? buffers_.pass : buffers_.projected;
    exchange_.begin_round();
    if (round.count > 1) backend_.begin(pass, static_cast<int>(round.count));
    for (std::size_t i = 0; i < round.count; ++i) {
      backend_.project(state_.gaussians, state_.precomputed, view(round.first + i), pass);
      exchange_.take(pass);
    }
    if (round.count > 1) add_times(backend_.read(pass).ms);
    exchange_.send();
  }

  View view(std::size_t at) const {
    View view = without_id(rendered_view(views_[at], options_));
    view.dropout.first = static_cast<std::uint32_t>(state_.part.first);
    return view;
  }

  void draw(const TrainView& train_view, DrawnView& out) {
    const View view = rendered_view(train_view, options_);
    Pass& pass = buffers_.drawn;
    for (;;) {
      backend_.begin(pass, 1);
      exchange_.receive(view, pass);
      backend_.bin(view, pass);
      backend_.blend(view, pass);
      differentiate_frame(backend_, train_view, view, options_, pass);
      backend_.blend_backward(view, wanted_, pass);
      const PassResult result = backend_.read(pass);
      add_times(result.ms);
      if (result.has_overflowed) continue;
      out.result = result.views.at(0);
      out.is_finite = result.is_finite;
      return;
    }
  }

  // In the order of the views, which is that of the sums.
  void project_backward(const Round& round) {
    for (std::size_t i = 0; i < round.count; ++i) {
      const View view = this->view(round.first + i);
      if (round.count > 1) backend_.project(state_.gaussians, state_.precomputed, view, buffers_.pass);
      exchange_.place(i, buffers_.pass);
      backend_.project_backward(state_.gaussians, state_.precomputed, view, wanted_, buffers_.pass,
                                buffers_.sum);
    }
  }

  // Every rank knows the views that it has drawn.
  PassResult gather_results() {
    results_[0].sent_bytes = exchange_.sent_bytes();
    const std::vector<DrawnView> all = gather_values(ranks_, std::span<const DrawnView>(results_));
    PassResult result;
    for (const DrawnView& view : all) result.exchanged_bytes += view.sent_bytes;
    for (std::size_t v = 0; v < views_.size(); ++v) {
      const std::size_t drawn_by = v % static_cast<std::size_t>(ranks_.count());
      const DrawnView& view = all[drawn_by * views_.size() + v];
      result.views.push_back(view.result);
      result.is_finite = result.is_finite && view.is_finite;
    }
    return result;
  }

  void update() {
    buffers_.has_begun_update = true;
    backend_.optimize(state_, buffers_.sum, options_.adam, options_.loss, buffers_.pass);
    if (options_.noise != 0) backend_.perturb(state_, options_.noise, options_.noise_seed, buffers_.pass);
  }

  void add_times(const StageTimes& ms) {
    for (std::size_t i = 0; i < ms.size(); ++i) times_[i] += ms[i];
  }

  Backend& backend_;
  Ranks& ranks_;
  TrainState& state_;
  std::span<const TrainView> views_;
  const TrainStep& options_;
  TrainBuffers& buffers_;
  WantedGradients wanted_;
  Exchange exchange_;
  std::vector<DrawnView> results_;  // of all views; this rank fills in those that it draws
  StageTimes times_{};
};

}  // namespace

bool draws_view(const Ranks& ranks, std::size_t at) {
  return at % static_cast<std::size_t>(ranks.count()) == static_cast<std::size_t>(ranks.rank());
}

PassResult sharded_step(Backend& backend, RankLink& link, TrainState& state, std::span<const TrainView> views,
                        const TrainStep& step, TrainBuffers& buffers) {
  if (step.wants_camera) throw Error("the gradients of cameras are not available over several ranks");
  buffers.has_begun_update = false;
  return Step(backend, link, state, views, step, buffers).run();
}

void render_sharded(Backend& backend, RankLink& link, const DeviceGaussians& part,
                    const Precomputed& precomputed, std::span<const View> views, const UseFrame& use) {
  const Ranks& ranks = link.ranks();
  Exchange exchange(backend, link);
  Pass projected, drawn;
  for (std::size_t first = 0; first < views.size(); first += static_cast<std::size_t>(ranks.count())) {
    const Round round(ranks, first, views.size());
    exchange.begin_round();
    for (std::size_t i = 0; i < round.count; ++i) {
      backend.project(part, precomputed, without_id(views[first + i]), projected);
      exchange.take(projected);
    }
    exchange.send();
    if (!round.is_drawn_here()) continue;
    const View& view = views[round.drawn()];
    do {
      exchange.receive(view, drawn);
      backend.bin(view, drawn);
      backend.blend(view, drawn);
    } while (backend.read(drawn).has_overflowed);
    use(round.drawn(), drawn);
  }
}

}  // namespace stipple
