compare_into "$out" configs/compare/biases.json "$@"
