"""Colours of figures and pages: one table, light and dark."""

__all__ = ["ROLES", "SERIES", "STYLE", "dash", "role_of", "variables_of"]

# role: (on light paper, on dark paper); a test checks the contrast of text and of lines.
ROLES = {
    "paper": ("#ffffff", "#14171f"),
    "ink": ("#1d2330", "#e8eaf0"),
    "soft": ("#566072", "#a6afc0"),
    "rule": ("#dfe3ea", "#313847"),
    "axis": ("#7d879a", "#717c91"),
    "none": ("#c2c9d5", "#4b5466"),
    "s1": ("#2563cf", "#74a5ff"),
    "s2": ("#c2570c", "#ff9b54"),
    "s3": ("#0b8068", "#45c7aa"),
    "s4": ("#8543c4", "#c49af2"),
    "s5": ("#c2334a", "#ff8593"),
    "s6": ("#7a6500", "#d6bd48"),
}
SERIES = 6  # colours of curves


def role_of(series: int) -> str:
    """The colour of a curve by its number."""
    return f"s{series % SERIES + 1}"


def dash(series: int) -> str | None:
    """The dashes of curves beyond the last colour."""
    return (None, "7 3", "2 3", "8 3 2 3")[series // SERIES % 4]


def _variables(which: int) -> str:
    return ";".join(f"--rl-{role}:{pair[which]}" for role, pair in ROLES.items())


def _rules() -> str:
    """Each colour twice: programs without CSS variables use the first."""
    rules = []
    for role, (light, _) in ROLES.items():
        rules.append(f".rl-svg .{role}{{fill:{light};fill:var(--rl-{role})}}")
        rules.append(f".rl-svg .l-{role}{{stroke:{light};stroke:var(--rl-{role});fill:none}}")
    return "".join(rules)


def variables_of(selector: str) -> str:
    """The colours as CSS variables of a selector, by the system's theme or by `data-theme`."""
    return (
        f"{selector}{{{_variables(0)}}}"
        f"@media(prefers-color-scheme:dark){{{selector}{{{_variables(1)}}}}}"
        f"[data-theme=light] {selector}{{{_variables(0)}}}[data-theme=dark] {selector}{{{_variables(1)}}}"
    )


STYLE = (
    variables_of(".rl-svg")
    + ".rl-svg{display:block;max-width:100%;height:auto;overflow:visible}"
    + _rules()
    + ".rl-svg .halo{stroke:#fff;stroke:var(--rl-paper);stroke-width:4px;paint-order:stroke}"
    + ".rl-figure{container-type:inline-size;margin:0;max-width:760px}.rl-narrow{display:none}"
    + "@container(max-width:540px){.rl-wide{display:none}.rl-narrow{display:block}}"
)
"""The style that a page with figures needs once; a figure in a file of its own includes it."""
