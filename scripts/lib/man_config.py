"""alibi-config(5), the config's keys as a manual page: man_config.py VERSION < config.schema.json"""
import json
import sys


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")


def number(value):
    return f"{int(value)}" if value == int(value) and abs(value) < 1e12 else f"{value:g}"


def allowed(key):
    if "enum" in key:
        return ", ".join(str(value) for value in key["enum"])
    kinds = key.get("type", "any")
    kind = " or ".join(kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null")
    bounds = [f"{word} {number(key[name])}" for name, word in (("minimum", "from"), ("maximum", "to")) if name in key]
    return " ".join([kind, *bounds])


def print_section(path, section):
    own = {name: key for name, key in section["properties"].items() if "properties" not in key}
    if own:
        print(f".SH {roff(path)}\n{roff(section.get('description', ''))}")
    for name, key in own.items():
        default = f", default {json.dumps(key['default'])}" if key.get("default") is not None else ""
        print(f".TP\n.B {roff(f'{path}.{name}')}\n{roff(allowed(key) + default)}.\n{roff(key.get('description', ''))}")
    for name, key in section["properties"].items():
        if "properties" in key:
            print_section(f"{path}.{name}", key)


def main(version):
    schema = json.load(sys.stdin)
    print(f""".TH ALIBI\\-CONFIG 5 "" "alibi {version}" "File Formats"
.SH NAME
alibi\\-config \\- keys of a config of alibi
.SH DESCRIPTION
A config is a JSON file, in which // begins a comment. All keys have defaults.
.B alibi COMMAND CONFIG... \\-\\-set PATH=VALUE
merges files from left to right and changes single keys; null stands for a key's default.""")
    for name, section in schema["properties"].items():
        if "properties" in section:
            print_section(name, section)
    print(".SH SEE ALSO\n.BR alibi (1)")


if __name__ == "__main__":
    main(sys.argv[1])
