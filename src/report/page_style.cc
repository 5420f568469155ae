// The page's style sheet. Dark colours apply to screens only, so that a print is always light.
#include "report/page.h"

namespace alibi {

const char kPageStyle[] = R"css(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --muted: #57606a;
  --rule: #d8dee4; --soft: #f6f8fa; --accent: #0072b2; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e6e9ed; --muted: #a0a8b2; --rule: #363c44; --soft: #1c2025;
    --accent: #56b4e9; }
  svg .paper { fill: #14171b; }
  svg .ink { fill: #e6e9ed; }
  svg .muted { fill: #a0a8b2; }
  svg .grid { stroke: #2a3038; }
  svg .axis { stroke: #a0a8b2; }
  svg .stroke0 { stroke: #3d9bd9; } svg .fill0 { fill: #3d9bd9; }
  svg .stroke1 { stroke: #f07f2f; } svg .fill1 { fill: #f07f2f; }
  svg .stroke2 { stroke: #2dbf96; } svg .fill2 { fill: #2dbf96; }
  svg .stroke6 { stroke: #e6e9ed; } svg .fill6 { fill: #e6e9ed; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.2rem 1.2rem 4rem; }
h1 { font-size: 1.65rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid
  var(--rule); }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p, .summary { max-width: 50rem; }
p { margin: .5rem 0; }
.byline, .small { color: var(--muted); font-size: .875rem; }
.summary { background: var(--soft); border-left: 4px solid var(--accent); border-radius: 0 6px
  6px 0;
  padding: .7rem 1rem; margin: 1.2rem 0; }
.summary ul { margin: .2rem 0; padding-left: 1.1rem; }
.caution { color: var(--muted); font-size: .9rem; }
figure { margin: 1.2rem 0; max-width: 50rem; }
svg { display: block; width: 100%; height: auto; }
figure { overflow-x: auto; } figure > svg { min-width: 34rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8125rem; width: 100%; font-variant-numeric:
  tabular-nums; }
th, td { padding: .32rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid
  var(--rule); }
th { font-weight: 600; vertical-align: bottom; }
td.interval, th.interval { color: var(--muted); }
tr.trained td { background: var(--soft); font-weight: 600; }
tr.trained td.interval { font-weight: 400; }
td.left, th.left { text-align: left; }
.wrap { white-space: normal; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: .6rem 0;
  font-size: .925rem; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: .85rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
pre { background: var(--soft); border-radius: 6px; padding: .7rem 1rem; margin: .6rem 0;
  white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media (max-width: 36rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem;
  } }
@media print { body { font-size: 11pt; } main { max-width: none; padding: 0; }
  figure, tr, .summary { break-inside: avoid; } h2, h3 { break-after: avoid; } .wide { overflow:
  visible; }
  table { font-size: 8pt; } th, td { padding: .2rem .3rem; } }
)css";

}  // namespace alibi
