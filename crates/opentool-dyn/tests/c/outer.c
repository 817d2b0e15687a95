int inner_answer(void);
int outer_answer(void) { return inner_answer() + 1; }
