int inner_answer(void) { return 41; }
