/* A library whose constructor does what CONSTRUCTOR says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void) { CONSTRUCTOR; }

int add_one(int x) { return x + 1; }
