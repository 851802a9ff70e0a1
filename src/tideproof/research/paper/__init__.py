"""Reproduction of a published paper on bandits with shifts: its simulations, figures and claims.

The paper is Srisawad, Branke, Tran-Thanh (2024), Identifying the best arm in the presence of global
environment shifts, ECAI.
"""
