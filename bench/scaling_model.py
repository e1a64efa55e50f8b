#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scaling_model.py [--gaussians 100e6] [--shown 0.5e6] [--batch-per-rank 1] [--link NAME] [--json]: how long a step over several
GPUs should take, and how much memory and traffic it needs, by a model (docs/scaling.md). It measures nothing: it adds up the
times of the stages on one GPU, which were measured, and the bytes that ranks exchange, over the published speed of a link."""
import argparse
import json
import math
from dataclasses import dataclass


@dataclass
class Measured:
    """Of one H200: `stipple_large_model --backend cuda --count 5e7 --steps 200`, of which docs/results.md has the output."""
    project_ns: float  # per Gaussian of the rank, and view
    draw_ns: float  # bin, blend, loss and blend_backward, per Gaussian that the view shows
    optimize_ns: float  # project_backward and optimize, per Gaussian of the rank
    sum_ns: float  # per Gaussian of the rank and view of a batch: 488 bytes of gradients at 4.3 TB/s; not measured
    fixed_ms: float  # launches and the wait at the end of a step
    bytes_per_gaussian: float  # of device memory, without photos


H200 = Measured(project_ns=0.043, draw_ns=8.3, optimize_ns=0.377, sum_ns=0.11, fixed_ms=0.1, bytes_per_gaussian=465)

# One direction, bytes per second of one GPU, and the latency of an exchange: what the makers publish.
LINKS = {
    "NVLink 4": (450e9, 20e-6),
    "InfiniBand NDR": (50e9, 25e-6),
    "PCIe 5, through the host": (25e9, 100e-6),
    "100 Gb Ethernet": (12.5e9, 150e-6),
}
SPLAT_BYTES, GRADIENT_BYTES = 64, 48  # ProjectedSplat; Splat and the absolute gradient


@dataclass
class Step:
    ranks: int
    batch: int
    compute_ms: float
    exchange_ms: float
    sent_mb: float  # by one rank
    memory_gb: float  # of one rank

    @property
    def ms(self):
        return self.compute_ms + self.exchange_ms

    @property
    def views_per_second(self):
        return 1000 * self.batch / self.ms


def step_over(ranks, batch, gaussians, shown, link, m=H200):
    own = gaussians / ranks
    rounds = math.ceil(batch / ranks)
    # With several views, only the last projection would be left for project_backward, so that it projects again.
    projections = 2 if ranks > 1 and batch > 1 else 1
    sums = batch if batch > 1 else 0
    compute_ms = m.fixed_ms + (batch * projections * own * m.project_ns + rounds * shown * m.draw_ns +
                               sums * own * m.sum_ns + own * m.optimize_ns) / 1e6
    speed, latency_s = LINKS[link]
    sent = bytes_sent_per_rank(ranks, batch, shown)
    exchange_ms = 1000 * (sent / speed + 2 * rounds * latency_s) if ranks > 1 else 0
    return Step(ranks, batch, compute_ms, exchange_ms, sent / 1e6, own * m.bytes_per_gaussian / 1e9)


def bytes_sent_per_rank(ranks, batch, shown):
    """Every rank sends its share of the splats of each view that another rank draws, and the gradients of those of others."""
    return batch * shown * (ranks - 1) / ranks * (SPLAT_BYTES + GRADIENT_BYTES) / ranks


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--gaussians", type=float, default=100e6)
parser.add_argument("--shown", type=float, default=4.6e6, help="Gaussians that a view shows")
parser.add_argument("--batch-per-rank", type=int, default=1, help="views of a batch for each rank")
parser.add_argument("--link", choices=LINKS, default="NVLink 4")
parser.add_argument("--json", action="store_true")
arguments = parser.parse_args()
steps = [step_over(r, r * arguments.batch_per_rank, arguments.gaussians, arguments.shown, arguments.link)
         for r in (1, 2, 4, 8, 16, 32, 64)]
if arguments.json:
    print(json.dumps([vars(s) for s in steps]))
else:
    print(f"{arguments.gaussians / 1e6:g} million Gaussians, {arguments.shown / 1e6:g} million in a view, {arguments.link}: a model, "
          "not a measurement\n")
    print("| GPUs | views per step | ms per step | of which exchange | views/s | to one GPU with this batch | sent by each, MB | memory of "
          "each, GB |")
    print("|---|---|---|---|---|---|---|---|")
    for s in steps:
        alone = step_over(1, s.batch, arguments.gaussians, arguments.shown, arguments.link)
        print(f"| {s.ranks} | {s.batch} | {s.ms:.2f} | {s.exchange_ms:.2f} | {s.views_per_second:.0f} | "
              f"{s.views_per_second / alone.views_per_second:.1f} | {s.sent_mb:.1f} | {s.memory_gb:.1f} |")
