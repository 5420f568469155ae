compare_into "$out" configs/compare/patterns.json "$@"
python3 configs/reproduce/steps.py "$alibi" runs/compare/patterns/configs "$out/steps.json" 3
