"""A picture of horizontal bars with their intervals, as SVG, in the colours of the program's own (src/report/plot.cc)."""
import html
import textwrap

WIDTH, LABELS, VALUES, ROW = 760, 300, 96, 26
LETTERS = 110  # of a line below the title
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


def text(x, y, said, anchor="start", colour="#1f2328", size=12, weight=""):
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" text-anchor="{anchor}"{weight}>{html.escape(said, quote=False)}</text>\n'


def bars(title, below, rows, written, line=None):
    """`rows`: (label, value, low, high), low and high None where there is no interval; `line`: a value to compare with."""
    ends = [end for _, value, low, high in rows for end in (value, low, high) if end is not None] + [0, line or 0]
    least, most = min(ends), max(ends)
    scale = (WIDTH - LABELS - VALUES - 20) / (most - least or 1)
    lines = textwrap.wrap(below, LETTERS)
    first = 42 + 16 * len(lines)
    height = first + 12 + ROW * len(rows)

    def x(value):
        return LABELS + (value - least) * scale

    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="{html.escape(title)}" font-family="{FONT}">\n'
    drawn += f'<rect x="0" y="0" width="{WIDTH}" height="{height}" fill="#ffffff"/>\n' + text(16, 25, title, size=16, weight=' font-weight="600"')
    drawn += "".join(text(16, 44 + 16 * i, line_of, colour="#57606a") for i, line_of in enumerate(lines))
    for i, (label, value, low, high) in enumerate(rows):
        top = first + ROW * i
        drawn += text(LABELS - 8, top + 15, label, "end")
        drawn += f'<rect x="{x(min(0, value)):.1f}" y="{top + 4}" width="{abs(value) * scale:.1f}" height="{ROW - 10}" fill="{"#0969da" if value >= 0 else "#bc4c00"}"/>\n'
        if low is not None:
            drawn += f'<line x1="{x(low):.1f}" y1="{top + 11}" x2="{x(high):.1f}" y2="{top + 11}" stroke="#1f2328" stroke-width="1.5"/>\n'
        drawn += text(WIDTH - 16, top + 15, written(value), "end")
    for at, colour in ((0, "#57606a"), (line, "#cf222e")):
        if at is not None:
            drawn += f'<line x1="{x(at):.1f}" y1="{first - 4}" x2="{x(at):.1f}" y2="{height - 10}" stroke="{colour}" stroke-width="1"/>\n'
    return drawn + "</svg>\n"
