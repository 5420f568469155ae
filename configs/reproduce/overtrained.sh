# An over-trained model of our own: does it break beyond its trained length, and what repairs it?
compare_into "$out" configs/reproduce/overtrained/dense.json "$@"
compare_into "$out/streaming" configs/reproduce/overtrained/streaming.json "$@"
