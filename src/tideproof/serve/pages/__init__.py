"""Web pages: Jinja2 templates, SVG pictures of `draw/`, one style sheet and one script.

`experiment_view` computes what the page of an experiment shows, `upload_process` analyzes uploaded files in a
process of its own, and `page_rendering` renders templates. The routes are in `api/page_routes.py` and
`api/form_routes.py`.
"""
