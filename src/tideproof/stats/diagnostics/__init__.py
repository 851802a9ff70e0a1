"""Checks of the model's assumptions: additivity, outlying cells, influential rows, traffic shares."""
