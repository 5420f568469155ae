// LibTorch's package leaves gloo's headers out, but its ProcessGroupGloo.hpp includes five of them.
// These declare what it names, and nothing of it is called here: links.cc sees them, no other file.
#pragma once
