// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/serve_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/view/model_hello.h"
#include "apps/stipple/view/model_site.h"
#include "apps/stipple/view/save_edits.h"

namespace stipple {

namespace {

// A file up to this size goes to a browser on this machine, or elsewhere, as it is.
constexpr std::uint64_t kMostLocalBytes = std::uint64_t{300} << 20;
constexpr std::uint64_t kMostSentBytes = std::uint64_t{30} << 20;
constexpr auto kStopInterval = std::chrono::milliseconds(50);

void print_model(const ViewedModel& model) {
  print("{}: {} Gaussians of degree {}\n", model.name, model.count, model.sh_degree);
  if (model.served && model.served->is_converted())
    print("Visitors get it as .{} ({}); --remote shows the model exactly as it is.\n", model.served->format(),
          format_bytes(static_cast<std::size_t>(model.served->size_bytes())));
  if (model.streamed) print("Visitors get those of its levels of detail that their cameras need.\n");
}

RemoteModels on_device(std::unique_ptr<Backend> backend, const std::vector<RenderOptions>& options,
                       float middle_depth, std::vector<Gaussians> gaussians) {
  RemoteModels remote{std::move(backend), {}};
  for (std::size_t i = 0; i < gaussians.size(); ++i) {
    remote.models.push_back(
        std::make_unique<ModelOnDevice>(*remote.backend, gaussians[i], options[i], middle_depth));
    gaussians[i] = {};  // the device has them now
  }
  return remote;
}

// Of several, the first that is a run: it knows the scene.
std::string model_with_scene(const std::vector<std::string>& models) {
  const auto run = std::find_if(models.begin(), models.end(), has_run_record);
  return run == models.end() ? models.front() : *run;
}

}  // namespace

void serve_models(const ServedModels& served, const ServerOptions& server_options) {
  const bool compares = served.models.size() > 1, streams = served.is_remote || compares;
  std::unique_ptr<Backend> backend = streams ? served.backend.make() : nullptr;
  const bool is_local = server_options.address == ServerOptions().address;
  std::vector<ViewedModel> models;
  std::vector<Gaussians> gaussians;
  std::vector<RenderOptions> render_options;
  for (const std::string& model : served.models) {
    gaussians.emplace_back();
    models.push_back(load_viewed_model(model,
                                       {.most_bytes = is_local ? kMostLocalBytes : kMostSentBytes,
                                        .may_convert = !served.is_remote || compares,
                                        .may_stream = !streams},
                                       gaussians.back()));
    render_options.push_back(models.back().render);
    print_model(models.back());
  }
  ScenePhotos photos(
      views_of_model(model_with_scene(served.models), served.scene, "there are no photos to compare with"),
      render_options.front().background);
  Hello hello = hello_of_models(models, photos.views());
  hello.views = photos.infos();
  if (!compares) hello.folder = folder_for_edits(models.front().given).string();
  const float middle_depth = hello.bounds.radius;

  std::function<RemoteModels()> prepare;
  if (streams) {
    hello.backend = fmt::format("{}: {}", backend->name(), backend->description());
    auto remote = std::make_shared<RemoteModels>(
        on_device(std::move(backend), render_options, middle_depth, std::move(gaussians)));
    prepare = [remote] { return std::move(*remote); };
  } else {
    gaussians.clear();  // loaded again if somebody wants a score
    prepare = [served, render_options, middle_depth] {
      std::vector<Gaussians> again;
      for (const std::string& model : served.models) again.push_back(load_model(model_file(model)));
      return on_device(served.backend.make(), render_options, middle_depth, std::move(again));
    };
  }

  ModelSite site(std::move(hello), std::move(models), photos, std::move(prepare));
  catch_interrupts();
  const Server server(server_options, site);
  print("{}\nOpen this address in a browser. Ctrl-C stops the viewer.\n", server.url());
  while (!interrupted()) std::this_thread::sleep_for(kStopInterval);
}

}  // namespace stipple
