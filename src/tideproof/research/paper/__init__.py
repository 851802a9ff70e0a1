"""Reproduction of the paper: the simulations to run, the figures to draw and the claims to check.

The paper is Srisawad, Branke, Tran-Thanh (2024), Identifying the best arm in the presence of global
environment shifts, ECAI.
"""
