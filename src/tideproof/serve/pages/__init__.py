"""The dashboard: pages by Jinja2, pictures as SVG of `draw/`, one style sheet and one script of our own.

`view` says what the page of an experiment shows, `uploads` reads files of strangers, `shown` makes a page of
a template. The routes are in `routes/pages.py` and `routes/forms.py`.
"""
