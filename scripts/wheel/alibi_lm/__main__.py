"""`alibi` and `python -m alibi_lm`: the program takes this process's place."""
import os
import sys

from alibi_lm import program


def main() -> None:
    os.execv(program(), ["alibi", *sys.argv[1:]])


if __name__ == "__main__":
    main()
