compare_into "$out" configs/compare/biases.json "$@"
python3 configs/reproduce/steps.py "$alibi" runs/compare/biases/configs "$out/steps.json" 3
