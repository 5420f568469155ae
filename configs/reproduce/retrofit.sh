# A model with learned positions goes on with linear biases in place of its table, for a twentieth more tokens: what that costs at the trained
# length, and what lengths it opens.
refuse_own_texts "$@"
refuse_own_folders "$@"
python3 "$steps/retrofit.py" "$alibi" "runs/reproduce/$name$(suffix_of "$@")" "$out" "$@"
write_page python3 "$steps/page.py" "$out"
