"""Checks of the model's assumptions: additivity, lack of fit, outlying cells, traffic shares, segments."""
