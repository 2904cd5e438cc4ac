"""SVG: scales, panels, curves, text, colours."""
