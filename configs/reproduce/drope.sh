# A model with rotary positions goes on without any for a tenth more tokens (DroPE, Gelberg et al. 2025): what that costs at
# the trained length, and what lengths it opens, beside the same model with its rotary positions stretched.
for option in "$@"; do
  case "$option" in run.folder=* | initialize.*) fail "drope has folders of its own: leave $option out" ;; esac
done
rotary=runs/reproduce/drope-rotary dropped=runs/reproduce/drope-none
first=(configs/quickstart.json configs/reproduce/drope/rotary.json)
"$alibi" train "${first[@]}" --resume "$@" --set run.folder="$rotary"
"$alibi" train "${first[@]}" configs/reproduce/drope/none.json --resume "$@" --set run.folder="$dropped"
measuring "$@"
"$alibi" evaluate "$rotary" "$dropped" --name rotary --name dropped "${options[@]}" --lengths 1x,2x,4x,10x,16x \
  --output "$out/curve" --overwrite
"$alibi" evaluate "$rotary" --name ntk "${options[@]}" --set evaluate.stretch=ntk --lengths 1x,2x,4x,10x,16x \
  --output "$out/ntk" --overwrite
