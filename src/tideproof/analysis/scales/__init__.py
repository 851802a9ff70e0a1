"""Scales on which arms can be compared (difference, ratio, odds, log).

A scale is fitted to cells; a `Fit` uses it through the protocol `ScaleFit`.
"""
