# A model with rotary positions goes on without any for a tenth more tokens (DroPE, Gelberg et al. 2025): what that costs at
# the trained length, and what lengths it opens, beside the same model with its rotary positions stretched.
train_in_turn rotary none "$@"
measuring "$@"
"$alibi" evaluate "$first" "$second" --name rotary --name dropped "${options[@]}" --lengths 1x,2x,4x,10x,16x \
  --output "$out/curve" --overwrite
"$alibi" evaluate "$first" --name ntk "${options[@]}" --set evaluate.stretch=ntk --lengths 1x,2x,4x,10x,16x \
  --output "$out/ntk" --overwrite
