"""Pictures: plain numbers in, a picture out. The only place that knows matplotlib; it computes nothing.

Pictures of pages are strings of SVG, coloured by the page: `svg` and `svg_axes`, and of these `arms`,
`tide`, `gaps` and `meetings`. Pictures of files are matplotlib's: `figure` and `styles`, and of these
`curves`, `paper` and `demo`. Both have their colours from `palette`.
"""
