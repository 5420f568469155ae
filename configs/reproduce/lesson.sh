# The page of a small checkpoint's attention, with sliders for its slopes.
train_small "$@"
runtime=() # what an evaluation takes beside it has no effect here
while [ $# -gt 1 ]; do
  case "$1 $2" in "--set runtime."*) runtime+=("$1" "$2") ;; esac
  shift 2
done
"$alibi" inspect attention "$run" --lengths 1x,2x,4x,8x "${runtime[@]}" --out "$out/index.html"
