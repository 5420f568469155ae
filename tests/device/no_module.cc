// A library of anything else.
extern "C" int nothing() { return 0; }
