# SPDX-License-Identifier: Apache-2.0
"""Replacements for the rasterizers of two other projects: change the import, and a script runs on Stipple.

    from stipple.compat.gsplat import rasterization
    from stipple.compat.inria import GaussianRasterizationSettings, GaussianRasterizer
"""
