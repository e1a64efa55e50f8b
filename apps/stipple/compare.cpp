// SPDX-License-Identifier: Apache-2.0
// stipple compare: training runs side by side, as a table and as charts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/table.h"
#include "apps/stipple/terminal/write_json.h"
#include "apps/stipple/view/serve_models.h"
#include "apps/stipple/view/server_flags.h"
#include "stipple/core/error.h"
#include "stipple/draw/canvas.h"
#include "stipple/draw/plot.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

struct CompareArguments {
  std::vector<std::string> runs;
  std::string chart_file;
  bool json = false, view = false;
  ServedModels served;
  ServerFlags server;
};

struct Run {
  std::string name;
  RunLog log;
  RunMetrics metrics;

  RunPoint last_evaluation() const {
    return metrics.evaluations.empty() ? RunPoint() : metrics.evaluations.back();
  }
};

Run load_run(const std::string& path) {
  check_run_folder(path);
  Run run{path, load_run_log(path), load_run_metrics(path)};
  if (run.log.points.empty() && std::isnan(run.metrics.end.step))
    throw Error(fmt::format(
        "{}: there is no log.jsonl or metrics.json in this folder; name the folder of a run", path));
  if (run.log.bad_line_count > 0)
    print_warning(fmt::format("{}: {} truncated or damaged lines were ignored",
                              (fs::path(path) / "log.jsonl").string(), run.log.bad_line_count));
  // A run that is still training or was killed has no metrics, but its log tells how far it has come.
  if (std::isnan(run.metrics.end.step)) run.metrics.end = run.log.points.back();
  return run;
}

// Replaces the paths of the runs with the names of their folders, unless two of these are equal.
void shorten_names(std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) {
    const fs::path path = fs::path(run.name) / "";  // treats "run" and "run/" alike
    names.push_back(path.parent_path().filename().string());
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return;
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].name = names[i];
}

std::string format_memory(double bytes) {
  return std::isnan(bytes) ? "-" : format_bytes(static_cast<std::size_t>(bytes));
}

void print_runs(const std::vector<Run>& runs) {
  std::vector<std::vector<std::string>> rows = {
      {"run", "steps", "Gaussians", "seconds", "peak memory", "PSNR", "SSIM"}};
  for (const Run& run : runs) {
    const RunPoint &end = run.metrics.end, score = run.last_evaluation();
    rows.push_back({run.name, format_number(end.step, 0), format_number(end.gaussians, 0),
                    format_number(end.seconds, 1), format_memory(run.metrics.peak_memory_bytes),
                    format_number(score.psnr, 2), format_number(score.ssim, 4)});
  }
  print_table(rows);
}

// Null if the value is unknown.
nlohmann::ordered_json whole(double value) {
  if (std::isnan(value)) return nullptr;
  return static_cast<std::int64_t>(value);
}

void print_json(const std::vector<Run>& runs) {
  auto out = nlohmann::ordered_json::array();
  for (const Run& run : runs) {
    const RunPoint &end = run.metrics.end, score = run.last_evaluation();
    out.push_back({{"run", run.name},
                   {"steps", whole(end.step)},
                   {"gaussians", whole(end.gaussians)},
                   {"seconds", end.seconds},
                   {"peak_memory_bytes", whole(run.metrics.peak_memory_bytes)},
                   {"psnr", score.psnr},
                   {"ssim", score.ssim}});
  }
  write_json(out);
}

struct Quantity {  // of an axis of a chart
  std::string label;
  double RunPoint::*value;
  double unit = 1;  // values are divided by it
};

Quantity time_quantity(const std::vector<Run>& runs) {
  double longest_s = 0;
  for (const Run& run : runs)
    if (run.metrics.end.seconds > longest_s) longest_s = run.metrics.end.seconds;
  if (longest_s < 300) return {"seconds of training", &RunPoint::seconds};
  if (longest_s < 3 * 3600) return {"minutes of training", &RunPoint::seconds, 60};
  return {"hours of training", &RunPoint::seconds, 3600};
}

PlotSeries series_of(const std::vector<RunPoint>& points, const Quantity& x, const Quantity& y) {
  PlotSeries series;
  for (const RunPoint& p : points) series.points.push_back({p.*x.value / x.unit, p.*y.value / y.unit});
  return series;
}

Image chart(const std::vector<Run>& runs, const Quantity& x, const Quantity& y) {
  PlotOptions options{y.label, x.label, {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    PlotSeries training = series_of(runs[i].log.points, x, y);
    training.name = runs[i].name;
    training.color = plot_color(i);
    options.series.push_back(std::move(training));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    PlotSeries evaluations = series_of(runs[i].metrics.evaluations, x, y);
    evaluations.color = plot_color(i);
    evaluations.style = PlotSeries::Style::kDots;
    options.series.push_back(std::move(evaluations));
  }
  return plot(options);
}

Image charts(const std::vector<Run>& runs) {
  const Quantity columns[] = {{"steps", &RunPoint::step}, time_quantity(runs)};
  const Quantity rows[] = {{"PSNR in dB: training (lines), evaluation (dots)", &RunPoint::psnr},
                           {"Gaussians", &RunPoint::gaussians}};
  const PlotOptions size;
  Canvas canvas(2 * size.width_px, 2 * size.height_px, {1, 1, 1});
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 2; ++column)
      canvas.picture(column * size.width_px, row * size.height_px, chart(runs, columns[column], rows[row]));
  return canvas.image();
}

void run_compare(const CompareArguments& a) {
  if (a.view && a.runs.size() != 2)
    throw CLI::ArgumentMismatch(fmt::format("--view shows two models side by side, not {}", a.runs.size()));
  if (!a.chart_file.empty()) OutputFile::check(a.chart_file);
  std::vector<Run> runs;
  for (const std::string& path : a.runs)
    if (!a.view || has_run_record(path)) runs.push_back(load_run(path));
  if (!a.chart_file.empty() && runs.empty())
    throw CLI::ArgumentMismatch("--output draws charts of training runs, and these are models alone");
  shorten_names(runs);
  if (a.json)
    print_json(runs);
  else if (!runs.empty())
    print_runs(runs);
  if (!a.chart_file.empty()) save_png(charts(runs), a.chart_file);
  if (!a.view) return;
  ServedModels served = a.served;
  served.models = a.runs;
  serve_models(served, server_options(a.server));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto a = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand("compare", "Compare training runs");
  command->add_option("runs", a->runs, "folders of training runs; with --view, also models of any format")
      ->required();
  command->add_option("-o,--output", a->chart_file,
                      ".png file for charts of PSNR and number of Gaussians over steps and over time");
  auto* json = command->add_flag("--json", a->json, "print the table as JSON");
  auto* view =
      command
          ->add_flag("--view", a->view,
                     "afterwards, show two models side by side in a browser, from the same camera and with "
                     "their scores of each photo")
          ->excludes(json);
  command
      ->add_option(
          "--scene", a->served.scene,
          "folder of the scene whose photos are shown; by default, that of the first one that is a run")
      ->needs(view);
  add_server_flags(*command, a->server);
  add_backend_options(*command, a->served.backend);
  for (const char* flag : {"--port", "--address", "--backend", "--device"})
    command->get_option(flag)->needs(view)->group("With --view");
  command->get_option("--scene")->group("With --view");
  command->callback([a] { run_compare(*a); });
}

}  // namespace stipple
