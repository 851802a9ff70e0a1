"""Pictures from plain numbers: inline SVG for pages and notebooks, matplotlib figures for files.

Only this package imports matplotlib. It computes no statistics. Inline SVG takes its colours from the CSS
of the page: `svg_elements` and `svg_picture`, and the charts built on them (`fit_charts`, `lead_over_time`,
`traffic_shares`). The other charts use `matplotlib_figure` and `line_styles`. All colours are defined in
`colour_palette`.
"""
