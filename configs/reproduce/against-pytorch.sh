# Time until the final loss of a PyTorch twin, compiled and with the best of its rates: the program beside it in turns, one
# length after another. LENGTHS="256 1024" chooses them, SEEDS="0 1 2" the rounds.
refuse_options "$@"
scripts/setup --verify
python3 "$steps/race.py" "$alibi" "$out" "${LENGTHS:-256 1024}" "${SEEDS:-0 1 2}"
