// The GLSL side of the shared dialect; the C++ side is math.inc.
#define real float
#define boolean bool
#define bits32 uint
#define FN
#define CONST(type, name, value) const type name = type(value);

float select(bool condition, float a, float b) { return condition ? a : b; }
vec3 select(bool condition, vec3 a, vec3 b) { return condition ? a : b; }
vec4 select(bool condition, vec4 a, vec4 b) { return condition ? a : b; }
