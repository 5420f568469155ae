# The page of a small checkpoint's attention, with sliders for its slopes.
train_small "$@"
take_sections runtime "$@"
"$alibi" inspect attention "$run" --lengths 1x,2x,4x,8x "${options[@]}" --out "$out/index.html"
