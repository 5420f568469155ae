compare_into "$out" configs/compare/patterns.json "$@"
