"""What is around the content of a page: one HTML file that loads nothing."""

from __future__ import annotations

_CSS = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2330; --soft: #5a6475; --rule: #c3cad4;
  --s0: #0b6cb8; --s1: #c8500a; --s2: #00805c; --s3: #b0478c;
  --s4: #946800; --s5: #21809e; --s6: #6d4fb3; --s7: #64707f; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e6eaf0; --soft: #a3adbb;
  --rule: #414b59; --s0: #5aaef2; --s1: #ff8f4d; --s2: #3fcf9f; --s3: #ea8cc4;
  --s4: #e5b447; --s5: #6fd0ea; --s6: #b49bf0; --s7: #98a4b3; } }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 66rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem; }
p { margin: .4rem 0; } .soft, figcaption span { color: var(--soft); }
figure { margin: 0; } figcaption { font-weight: 600; overflow-wrap: anywhere; }
.plot { width: 100%; height: auto; display: block; }
.wide { overflow-x: auto; } .wide .plot { min-width: 34rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th:first-child { text-align: left; min-width: 9rem; max-width: 18rem; white-space: normal;
  overflow-wrap: break-word; padding-left: 0; }
thead th { white-space: normal; color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; }
ul.key { list-style: none; margin: .3rem 0 .8rem; padding: 0; display: flex; flex-wrap: wrap;
  gap: .2rem 1.1rem; }
ul.key i { display: inline-block; width: .8em; height: .8em; margin-right: .4em;
  vertical-align: -.05em; opacity: .8; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: .95em ui-monospace, monospace; }
"""


def page(body: str) -> str:
    # The policy keeps the page from loading anything, whatever a label holds.
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Reward methods compared</title>\n<style>{_CSS}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
