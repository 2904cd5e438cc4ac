"""The style of a report's page."""

from rankloop.report.drawing.style import variables_of

__all__ = ["PAGE_STYLE"]

PAGE_STYLE = (
    variables_of(":is(.rl-page,.rl-svg)")
    + """
html { color-scheme: light dark }
.rl-page { background: var(--rl-paper); color: var(--rl-ink); margin: 0 auto; max-width: 760px;
  padding: 24px 16px 64px; font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 4px }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 44px 0 10px }
p { margin: 8px 0; max-width: 68ch }
a { color: var(--rl-s1) }
nav { margin: 18px 0; font-size: .95rem }
nav a { margin-right: 14px; display: inline-block }
footer { color: var(--rl-soft); margin-top: 56px; font-size: .85rem }
.soft { color: var(--rl-soft) }
.table { overflow-x: auto; margin: 14px 0 }
table { border-collapse: collapse; font-size: .9rem; overflow-wrap: normal;
  font-variant-numeric: tabular-nums }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rl-rule); vertical-align: top }
td:not(:last-child) { white-space: nowrap }
.table div div { font-size: .85rem }
th { color: var(--rl-soft); font-weight: 600 }
caption { padding: 4px 0; font-weight: 600 }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: 4px 18px;
  font-size: .9rem; margin: 12px 0 }
dt { color: var(--rl-soft) }
dd { margin: 0 }
summary { cursor: pointer; font-weight: 600; margin-top: 32px }
.rl-figure { margin: 18px 0 }
@media print { nav { display: none } section { break-inside: avoid } }
"""
)
