# ALiBi's slopes by every rule; then how far five draws spread, and what learning the slopes costs.
compare_into "$out" configs/reproduce/slopes/rules.json "$@"
write_page python3 configs/reproduce/slopes/spread.py "$out/comparison.json"
