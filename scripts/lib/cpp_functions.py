"""Finds the functions of a C++ file by matching braces; no parser, but enough for counting. Used by check_sizes.py.

Comments, literals and preprocessor lines are blanked first, line numbers kept. Then, outside functions, what stands
before a '{' says what it opens: a namespace or type (looked into), a function (counted and skipped to its '}'), or
an initialiser (skipped). Lambdas count as part of the function they are in.
"""
import re
from dataclasses import dataclass


@dataclass
class Function:
    name: str
    line: int  # where its declaration starts
    lines: int  # up to and with the closing brace
    parameters: int


BLANKED = re.compile(
    r'R"(?P<mark>[^()\\ ]*)\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"  # a character; 1'000'000 is none
    r"|//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/"
    r"|^[ \t]*\#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE)
SCOPE = re.compile(r"\s*(?:\[\[.*?\]\]\s*|export\s+|inline\s+|typedef\s+)*(?:namespace|class|struct|union|extern)\b")
TEMPLATE = re.compile(r"\s*template\s*<")
AFTER_PARAMETERS = re.compile(
    r"\s*(?:noexcept\s*\([^()]*\)\s*|(?:const|volatile|&&?|noexcept|override|final|mutable|try)\s*|\[\[.*?\]\]\s*)*"
    r"(?:->.*|requires\b.*)?$", re.DOTALL)
OPENING, CLOSING = "([{", ")]}"


def blank(text):
    """Same length and lines, with comments, literals and directives replaced by spaces (a literal leaves a 0)."""
    def spaces(match):
        found = match.group()
        kept = re.sub(r"[^\n]", " ", found)
        return ("0" + kept[1:]) if found[0] in "R\"'" else kept
    return BLANKED.sub(spaces, text)


def matching(text, start):
    """The place of the bracket that closes the one at start."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] in OPENING:
            depth += 1
        elif text[place] in CLOSING:
            depth -= 1
            if depth == 0:
                return place
    return len(text) - 1


def skip_template(head):
    """head without its leading template<...>."""
    while TEMPLATE.match(head):
        depth = 0
        for place in range(head.index("<"), len(head)):
            depth += {"<": 1, ">": -1}.get(head[place], 0)
            if depth == 0:
                head = head[place + 1:]
                break
        else:
            return head
    return head


def parenthesis_groups(head):
    """(start, end) of each '(...)' of head that is in no other bracket."""
    groups, place = [], 0
    while place < len(head):
        if head[place] in OPENING:
            end = matching(head, place)
            if head[place] == "(":
                groups.append((place, end))
            place = end
        place += 1
    return groups


def parameter_group(head):
    """(start, end) of the parameter list if head declares a function, else None; and whether ': members' follows."""
    for start, end in parenthesis_groups(head):
        name = re.search(r"([\w~]+|operator\s*\W{1,3}|>)\s*$", head[:start])
        if not name or re.search(r"\b(alignas|decltype|noexcept|requires|__attribute__)\s*$", head[:start]):
            continue
        rest = head[end + 1:]
        if AFTER_PARAMETERS.match(rest):
            return (start, end), False
        if re.match(r"\s*(noexcept\s*(\([^()]*\))?\s*)?:(?!:)", rest):
            return (start, end), True
    return None, False


def count_parameters(inside):
    """Commas outside brackets; '<' and '>' count as brackets here."""
    if not inside.strip() or inside.strip() == "void":
        return 0
    depth, count = 0, 1
    for place, letter in enumerate(inside):
        if letter in OPENING or letter == "<":
            depth += 1
        elif letter in CLOSING or (letter == ">" and inside[place - 1] != "-"):
            depth -= 1
        elif letter == "," and depth == 0:
            count += 1
    return count


def opens_initialiser(head):
    """Whether head ends in '=' or has one outside brackets (operator= and its like aside)."""
    plain = re.sub(r"operator\s*[=!<>+\-*/%^&|]+", "operator", head)
    depth = 0
    for place, letter in enumerate(plain):
        if letter in OPENING:
            depth += 1
        elif letter in CLOSING:
            depth -= 1
        elif letter == "=" and depth == 0 and plain[place - 1] not in "=!<>" and plain[place + 1:place + 2] != "=":
            return True
    return False


def body_start(text, brace):
    """For a constructor with member initialisers: the brace of its body, past those of members like a{1}."""
    while re.search(r"[\w>]\s*$", text[:brace][-200:]):
        after = matching(text, brace) + 1
        found = re.match(r"\s*(\.\.\.)?\s*[,{]", text[after:])
        if not found:
            return brace
        brace = text.index("{", after)
    return brace


def function_at(text, begin, brace):
    """(Function, place of its closing brace) if text[begin:brace] declares one, else None."""
    raw = text[begin:brace]
    head = skip_template(raw)
    if opens_initialiser(head):
        return None
    group, has_members = parameter_group(head)
    if group is None:
        return None
    if has_members:
        brace = body_start(text, brace)
    end = matching(text, brace)
    first = begin + len(raw) - len(raw.lstrip())
    name = re.search(r"([\w:~]+|operator\s*\W{1,3})\s*$", head[:group[0]])
    line = text.count("\n", 0, first) + 1
    lines = text.count("\n", first, end) + 1
    found = name.group(1) if name else "?"
    return Function(found, line, lines, count_parameters(head[group[0] + 1:group[1]])), end


def cpp_functions(source):
    text = blank(source)
    functions, begin, place = [], 0, 0
    while place < len(text):
        letter = text[place]
        if letter == "(" or letter == "[":
            place = matching(text, place)
        elif letter == "{":
            head = skip_template(text[begin:place])
            found = None if SCOPE.match(head) else function_at(text, begin, place)
            if found:
                functions.append(found[0])
                place = begin = found[1]
                begin += 1
            elif SCOPE.match(head) and not opens_initialiser(head):
                begin = place + 1
            else:
                place = matching(text, place)  # an initialiser or an enum
        elif letter in ";}" or (letter == ":" and re.search(r"\b(public|private|protected)\s*$", text[begin:place])):
            begin = place + 1
        place += 1
    return functions
