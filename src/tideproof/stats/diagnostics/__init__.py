"""Checks of the model: additivity, lack of fit, outlying cells, influential rows, traffic shares."""
