"""The paper, reproduced: what to run, what to draw and what to check, one entry a figure and a claim.

Srisawad, Branke, Tran-Thanh (2024), Identifying the best arm in the presence of global environment
shifts, ECAI.
"""
