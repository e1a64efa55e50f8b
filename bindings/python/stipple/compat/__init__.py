# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for two rasterizers that scripts are written for: change the import, and the script runs on Stipple.

    from stipple.compat.gsplat import rasterization
    from stipple.compat.inria import GaussianRasterizationSettings, GaussianRasterizer
"""
