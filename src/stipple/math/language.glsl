// The GLSL side of the shared dialect; the C++ side is math.h.
#define real float
#define FN
#define CONST(type, name, value) const type name = type(value);
