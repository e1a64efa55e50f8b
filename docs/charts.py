#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/truck_chart.svg, the chart of docs/results.md. After a change to the numbers: python3 docs/charts.py"""
from pathlib import Path

# Tanks and Temples "truck", 30,000 steps on one H200, as in the table "Training on a GPU" of results.md.
SYSTEMS = ["Stipple", "Faster-GS", "gsplat 1.5.3"]  # the first is highlighted
GROUPS = [  # title, unit, format of a value, where the axis begins and ends, one value for each system
    ("Time for 30,000 steps (shorter is better)", "s", "{:.0f}", 0, 300, [59.4, 117.7, 292]),
    (
        "PSNR on held-out views (longer is better; the axis starts at 24 dB)",
        "dB",
        "{:.2f}",
        24,
        26,
        [25.93, 24.95, 24.66],
    ),
]

WIDTH, LEFT, RIGHT, BAR, STEP, TITLE, GAP = 760, 130, 100, 22, 30, 34, 20  # in pixels
HIGHLIGHT, OTHER, INK = "#d9480f", "#adb5bd", "#212529"


def text(x: float, y: float, content: str, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{content}</text>'


def group(top: int, title: str, unit: str, form: str, begin: float, end: float, values: list) -> list:
    """One titled group of bars; `top` is its upper edge."""
    parts = [text(LEFT, top + 16, title, weight="bold")]
    for i, (name, value) in enumerate(zip(SYSTEMS, values)):
        y = top + TITLE + i * STEP
        length = (value - begin) / (end - begin) * (WIDTH - LEFT - RIGHT)
        weight, color = ("bold", HIGHLIGHT) if i == 0 else ("normal", OTHER)
        parts.append(text(LEFT - 10, y + BAR - 6, name, "end", weight))
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{color}"/>')
        parts.append(text(LEFT + round(length, 1) + 8, y + BAR - 6, f"{form.format(value)} {unit}", weight=weight))
    bottom = top + TITLE + len(SYSTEMS) * STEP
    parts.append(f'<path d="M{LEFT} {top + TITLE - 6}V{bottom}" stroke="{INK}"/>')
    return parts


def chart() -> str:
    group_height = TITLE + len(SYSTEMS) * STEP + GAP
    height = GAP + len(GROUPS) * group_height
    label = "Tanks and Temples truck on one H200: Stipple, Faster-GS and gsplat compared by training time and PSNR"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="15" fill="{INK}" role="img">',
        f"<title>{label}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for i, content in enumerate(GROUPS):
        lines += group(GAP + i * group_height, *content)
    return "\n".join(lines + ["</svg>"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("truck_chart.svg").write_text(chart(), encoding="utf-8")
