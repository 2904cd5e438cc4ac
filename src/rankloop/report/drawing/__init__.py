"""SVG: scales, panels, curves, words, colours."""
