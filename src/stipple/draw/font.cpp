// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/font.h"

#include <cassert>

namespace stipple {

namespace {

constexpr char kFirst = ' ', kLast = '~', kUnknown = '?';
constexpr int kPerBand = 16;

// The printable ASCII characters as they look, 16 per band, with an empty column between neighbours.
// clang-format off
constexpr char kBands[6][kGlyphHeight][kPerBand * kGlyphAdvance] = {
    {"        #    # #          #   ##  #  ##     #      #   #                                      #",
     "        #    # #   # #   #### ##  # #  #    #     #     #     #     #                         #",
     "        #    # #  ##### # #      #  #  #    #    #       #  # # #   #                        # ",
     "        #          # #   ###    #    ##          #       #   ###  #####       ####          #  ",
     "        #         #####   # #  #    # # #        #       #  # # #   #                      #   ",
     "                   # #  ####  #  ## #  #          #     #     #     #                     #    ",
     "        #                 #   #  ##  ## #          #   #                  #           #   #    ",
     "                                                                          #                    ",
     "                                                                         #                     "},
    {" ###    #    ###   ###     #  #####   ##  #####  ###   ###                                 ### ",
     "#   #  ##   #   # #   #   ##  #      #        # #   # #   #                #         #    #   #",
     "#  ## # #       #     #  # #  ####  #        #  #   # #   #   #     #     #   ####    #       #",
     "# # #   #      #    ##  #  #      # ####     #   ###   ####              #             #     # ",
     "##  #   #     #       # #####     # #   #   #   #   #     #               #   ####    #     #  ",
     "#   #   #    #    #   #    #  #   # #   #   #   #   #    #                 #         #         ",
     " ###  ##### #####  ###     #   ###   ###    #    ###   ##     #     #                       #  ",
     "                                                                    #                          ",
     "                                                                   #                           "},
    {" ###    #   ####   ###  ###   ##### #####  ###  #   #  ###    ### #   # #     #   # #   #  ### ",
     "#   #  # #  #   # #   # #  #  #     #     #   # #   #   #      #  #  #  #     ## ## ##  # #   #",
     "# ### #   # #   # #     #   # #     #     #     #   #   #      #  # #   #     # # # ##  # #   #",
     "# # # #   # ####  #     #   # ####  ####  #  ## #####   #      #  ##    #     # # # # # # #   #",
     "# ### ##### #   # #     #   # #     #     #   # #   #   #      #  # #   #     #   # #  ## #   #",
     "#     #   # #   # #   # #  #  #     #     #   # #   #   #   #  #  #  #  #     #   # #  ## #   #",
     " ###  #   # ####   ###  ###   ##### #      ###  #   #  ###   ##   #   # ##### #   # #   #  ### ",
     "                                                                                               ",
     "                                                                                               "},
    {"####   ###  ####   ###  ##### #   # #   # #   # #   # #   # #####  ###  #      ###    #        ",
     "#   # #   # #   # #   #   #   #   # #   # #   # #   # #   #     #  #    #        #   # #       ",
     "#   # #   # #   # #       #   #   # #   # #   #  # #   # #     #   #     #       #  #   #      ",
     "####  #   # ####   ###    #   #   # #   # # # #   #     #     #    #      #      #             ",
     "#     # # # # #       #   #   #   #  # #  # # #  # #    #    #     #       #     #             ",
     "#     #  #  #  #  #   #   #   #   #  # #  ## ## #   #   #   #      #        #    #             ",
     "#      ## # #   #  ###    #    ###    #   #   # #   #   #   #####  ###      #  ###             ",
     "                                                                                          #####",
     "                                                                                               "},
    {" #          #               #         ##        #       #      #  #      ##                    ",
     "  #         #               #        #          #                 #       #                    ",
     "       ###  ####   ###   ####  ###  ####   #### # ##   ##     ##  #  #    #   ## #  # ##   ### ",
     "          # #   # #   # #   # #   #  #    #   # ##  #   #      #  # #     #   # # # ##  # #   #",
     "       #### #   # #     #   # #####  #    #   # #   #   #      #  ##      #   # # # #   # #   #",
     "      #   # #   # #   # #   # #      #    #   # #   #   #      #  # #     #   # # # #   # #   #",
     "       #### ####   ###   ####  ###   #     #### #   #  ###     #  #  #   ###  # # # #   #  ### ",
     "                                              #                #                               ",
     "                                           ###               ##                                "},
    {"                         #                                           #    #    #               ",
     "                         #                                          #     #     #              ",
     "####   #### # ##   #### ####  #   # #   # #   # #   # #   # #####   #     #     #    #  #      ",
     "#   # #   # ##  # #      #    #   # #   # #   #  # #  #   #    #   #      #      #  # # #      ",
     "#   # #   # #      ###   #    #   # #   # # # #   #   #   #   #     #     #     #   #  #       ",
     "#   # #   # #         #  #    #  ##  # #  # # #  # #  #   #  #      #     #     #              ",
     "####   #### #     ####    ##   ## #   #    # #  #   #  #### #####    #    #    #               ",
     "#         #                                               #                                    ",
     "#         #                                            ###                                     "},
};
// clang-format on

}  // namespace

bool has_dot(char character, int x, int y) {
  if (character < kFirst || character > kLast) character = kUnknown;
  if (x < 0 || x >= kGlyphWidth || y < 0 || y >= kGlyphHeight) return false;
  const int index = character - kFirst;
  return kBands[index / kPerBand][y][index % kPerBand * kGlyphAdvance + x] == '#';
}

float text_width_px(std::string_view text, float size_px) {
  if (text.empty()) return 0;
  const float dots = static_cast<float>(text.size()) * kGlyphAdvance - (kGlyphAdvance - kGlyphWidth);
  return dots * size_px / kCapitalHeight;
}

}  // namespace stipple
