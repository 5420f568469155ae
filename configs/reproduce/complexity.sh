# Time and memory of attention by length, for all keys, sparse patterns and hashed keys, beside attention that keeps all scores.
refuse_options "$@"
python3 "$steps/measure.py" "$alibi" "$out"
