# ALiBi's slopes by every rule; then how far five draws spread, and what learning the slopes costs.
compare_into "$out" configs/reproduce/slopes/rules.json "$@"
python3 configs/reproduce/slopes/spread.py "$out/comparison.json" | tee "$out/README.md"
