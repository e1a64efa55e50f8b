// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/trainer.h"

#include <optional>
#include <utility>

#include "bindings/python/src/bindings.h"
#include "bindings/python/src/options.h"
#include "stipple/model/model_file.h"

namespace stipple {

namespace {

// Options of the command that end or save a run; in Python the caller does that.
constexpr const char* kCommandOnly[] = {"time_limit", "target_psnr", "checkpoint_every", "checkpoint_seconds",
                                        "eval_every"};

RunOptions run_options(const py::dict& given, const Scene& scene) {
  for (const char* name : kCommandOnly)
    if (given.contains(name))
      throw py::type_error(fmt::format(
          "{} is an option of the command only; a callback can end a run, and save() saves it", name));
  return resolve(given_in_python(given), scene);
}

// Where a run starts, if not from the points of the scene: `model`, or the model that the options name.
std::optional<Gaussians> start_of(const RunOptions& options, const HostGaussians* model) {
  if (model) return to_host(*model);
  if (options.start.empty()) return {};
  return load_model(options.start);
}

Trainer make_trainer(Backend& backend, const Scene& scene, const TrainOptions& options,
                     std::optional<Gaussians> start) {
  if (start) return {backend, scene, options, *std::move(start)};
  return {backend, scene, options};
}

// A trainer with its scene and backend; a mutex admits one thread at a time.
class PythonTrainer {
 public:
  PythonTrainer(std::shared_ptr<Scene> scene, const RunOptions& o, std::optional<Gaussians> start)
      : scene_(std::move(scene)),
        backend_(
            make_backend(o.backend, {.device = o.device,
                                     .deterministic = o.deterministic,
                                     .max_bytes = static_cast<std::size_t>(o.max_vram_gib * (1u << 30))})),
        trainer_(make_trainer(*backend_, *scene_, o.train, std::move(start))),
        holds_out_(o.train.hold_out) {}

  template <class F>
  auto use(F f) {
    const std::lock_guard lock(mutex_);
    return f(trainer_);
  }

  Evaluation evaluate() {
    return use([&](Trainer& t) {
      const auto which = holds_out_ ? scene_->test_views() : scene_->train_views();
      return t.evaluate(which);
    });
  }
  std::string backend() const { return std::string(backend_->name()); }

 private:
  std::mutex mutex_;
  std::shared_ptr<Scene> scene_;
  std::unique_ptr<Backend> backend_;
  Trainer trainer_;
  bool holds_out_;
};

}  // namespace

void bind_trainer(py::module_& module) {
  py::class_<GuardEvent>(module, "GuardEvent", "What the guard did after a step.")
      .def_property_readonly("kind", [](const GuardEvent& e) { return to_text(e.kind); })
      .def_readonly("best_step", &GuardEvent::best_step)
      .def_readonly("psnr", &GuardEvent::psnr)
      .def_readonly("best_psnr", &GuardEvent::best_psnr)
      .def_readonly("last_step", &GuardEvent::last_step);
  py::class_<StepReport>(module, "StepReport", "The result of one training step.")
      .def_readonly("step", &StepReport::step)
      .def_readonly("loss", &StepReport::loss)
      .def_readonly("psnr", &StepReport::psnr)
      .def_readonly("gaussian_count", &StepReport::gaussian_count)
      .def_readonly("was_skipped", &StepReport::was_skipped)
      .def_readonly("guard", &StepReport::guard)
      .def_property_readonly("milliseconds", [](const StepReport& r) {
        std::map<std::string, double> ms;
        for (std::size_t i = 0; i < r.ms.size(); ++i) ms[kStageNames[i]] = r.ms[i];
        return ms;
      });
  py::class_<PythonTrainer>(module, "Trainer")
      .def(py::init([](std::shared_ptr<Scene> scene, const py::dict& given, const HostGaussians* start) {
             const RunOptions options = run_options(given, *scene);
             const py::gil_scoped_release no_lock;
             return std::make_unique<PythonTrainer>(std::move(scene), options, start_of(options, start));
           }),
           py::arg("scene"), py::arg("options"), py::arg("start") = nullptr)
      .def(
          "step", [](PythonTrainer& t) { return t.use([](Trainer& u) { return u.step(); }); }, NoLock())
      .def(
          "done", [](PythonTrainer& t) { return t.use([](Trainer& u) { return u.done(); }); }, NoLock())
      .def(
          "steps_done", [](PythonTrainer& t) { return t.use([](Trainer& u) { return u.steps_done(); }); },
          NoLock())
      .def(
          "last_step", [](PythonTrainer& t) { return t.use([](Trainer& u) { return u.last_step(); }); },
          NoLock())
      .def(
          "dropped_count",
          [](PythonTrainer& t) { return t.use([](Trainer& u) { return u.dropped_count(); }); }, NoLock())
      .def("watched_views",
           [](PythonTrainer& t) {
             return t.use([](Trainer& u) {
               return std::vector<std::size_t>(u.watched_views().begin(), u.watched_views().end());
             });
           })
      .def("backend", &PythonTrainer::backend)
      .def("gaussians",
           [](PythonTrainer& t) {
             return to_numpy(without_lock([&] { return t.use([](Trainer& u) { return u.gaussians(); }); }));
           })
      .def(
          "save",
          [](PythonTrainer& t, const std::filesystem::path& path) {
            t.use([&](Trainer& u) { u.save(path); });
          },
          NoLock())
      .def(
          "restore",
          [](PythonTrainer& t, const std::filesystem::path& path) {
            t.use([&](Trainer& u) { u.restore(path); });
          },
          NoLock())
      .def("evaluate", [](PythonTrainer& t) {
        const Evaluation e = without_lock([&] { return t.evaluate(); });
        std::vector<std::tuple<std::string, double, double>> views;
        for (const ViewScore& v : e.views) views.emplace_back(v.name, v.psnr, v.ssim);
        return py::make_tuple(e.psnr, e.ssim, views);
      });
}

}  // namespace stipple
