/* What documents found in public repositories describe. */
float wild_multiply(float a, float b) { return a * b; }
void wild_swap(int *a, int *b) { int c = *a; *a = *b; *b = c; }
int *wild_square(int v) { static int square; square = v * v; return &square; }
int wild_add(int a, int b) { return a + b; }
