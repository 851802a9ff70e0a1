"""Rules that choose pairs of a model and an item, compiled: the product's, paired halving and UCB-E.

`ask_pairs` chooses the same pairs as `tideproof.policies.environment_choice` (a test compares them), but
estimates the variances only every 5 % of the calls if `refit` says so, which makes thousands of runs possible.
`race` plays the two stopping rules of `model_race.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _solve(Y, asked, rows, K, r):
    A = np.zeros((K, K))
    g = np.zeros(K)
    for j in rows:
        m, s = 0, 0.0
        for k in range(K):
            if asked[j, k]:
                m += 1
                s += Y[j, k]
        f = r / (1 + r * m)
        for a in range(K):
            if asked[j, a]:
                A[a, a] += 1
                g[a] += Y[j, a] - f * s
                for b in range(K):
                    if asked[j, b]:
                        A[a, b] -= f
    for k in range(K):
        A[k, k] += 1e-6
    return A, g


@njit(cache=True)
def _variances(Y, asked, rows, mu, K):
    cov, pairs, squares, count = 0.0, 0.0, 0.0, 0.0
    for j in rows:
        s, q, m = 0.0, 0.0, 0
        for k in range(K):
            if asked[j, k]:
                e = Y[j, k] - mu[k]
                s += e
                q += e * e
                m += 1
        squares += q
        count += m
        cov += s * s - q
        pairs += m * (m - 1.0)
    v = max(squares / max(count, 1.0), 1e-12)
    share = min(max((cov + 0.3 * v * 40) / (pairs + 40) / v, 0.0), 0.98)
    return share / (1 - share), v * (1 - share)


@njit(cache=True)
def _fit(Y, asked, seen, K):
    r, s2 = 0.5, 1.0
    for _ in range(2):
        A, g = _solve(Y, asked, seen, K, r)
        r, s2 = _variances(Y, asked, seen, np.linalg.inv(A) @ g, K)
    A, g = _solve(Y, asked, seen, K, r)
    return A, g, r, s2


@njit(cache=True)
def ask_pairs(Y, T, refit):
    """Ask T pairs of Y (items in their random order x models); return the pick and the pairs."""
    N, K = Y.shape
    asked = np.zeros((N, K), np.bool_)
    pat = np.zeros(N, np.int64)
    cap = 64
    B, cnt, size = np.zeros((cap, K), np.bool_), np.zeros(cap, np.int64), np.zeros(cap, np.int64)
    child = np.full((cap, K), -1, np.int64)
    P = 1
    cnt[0] = N
    pairs = np.zeros((T, 2), np.int64)
    used, fitted, seen = 0, 0, 0
    warm = max(1, min(5, T // (4 * K)))
    A, g = np.zeros((K, K)), np.zeros(K)
    r, s2 = 0.5, 1.0
    x, inset, low = np.zeros(K), np.zeros(K, np.bool_), np.zeros(cap, np.int64)
    while used < T:
        j = -1
        a = 0
        if used < warm * K:
            j, a = used // K, used % K
        else:
            if used - fitted >= (max(2 * K, used // 20) if refit else 1) or fitted == 0:
                A, g, r, s2 = _fit(Y, asked, np.arange(seen), K)
                fitted = used
            Ai = np.linalg.inv(A)
            mu = Ai @ g
            b = np.argmax(mu)
            h = np.sqrt(T / max(T - used + 0.02 * T, 1.0))
            logs = np.full(K, -np.inf)
            for k in range(K):
                V = s2 * (Ai[b, b] + Ai[k, k] - 2 * Ai[b, k] - 2.0 / N)
                if k != b and 1e-9 * s2 < V:
                    logs[k] = -0.5 * h * (mu[b] - mu[k]) ** 2 / V - 0.5 * np.log(V)
            big = logs.max()
            if big == -np.inf:
                for t in range(N):
                    for k in range(K):
                        if not asked[t, k] and j < 0:
                            j, a = t, k
            else:
                G = np.zeros((K, K))
                for k in range(K):
                    w = np.exp(logs[k] - big)
                    if w > 0:
                        for i in range(K):
                            c = w * (Ai[i, b] - Ai[i, k])
                            for q in range(K):
                                G[i, q] += c * (Ai[q, b] - Ai[q, k])
                best, bp, empty = -np.inf, -1, -np.inf
                ba, ea = 0, 0
                for p in range(P):
                    if cnt[p] == 0 or size[p] == K:
                        continue
                    m0 = size[p]
                    m, tr, tot = m0, 0.0, 0.0
                    x[:] = 0.0
                    for k in range(K):
                        inset[k] = B[p, k]
                        if inset[k]:
                            tr += G[k, k]
                            for i in range(K):
                                x[i] += G[k, i]
                    for k in range(K):
                        if inset[k]:
                            tot += x[k]
                    start = tr - r / (1 + r * m) * tot
                    cost, found, gain, first = 0, 0, -np.inf, -1
                    while m < K:
                        bi, bg, f = -1, -np.inf, r / (1 + r * (m + 1.0))
                        for i in range(K):
                            if not inset[i]:
                                gg = tr + G[i, i] - f * (tot + G[i, i] + 2 * x[i])
                                if gg > bg:
                                    bg, bi = gg, i
                        cost += 1
                        if cost == 1:
                            first = bi
                        rate = (bg - start) / cost
                        if rate > gain * (1 + 1e-12):
                            gain, found = rate, cost
                        inset[bi] = True
                        tr += G[bi, bi]
                        tot += G[bi, bi] + 2 * x[bi]
                        m += 1
                        for i in range(K):
                            x[i] += G[bi, i]
                        if not (cost < found + 2 and (cost < 3 or m0 == 0)):
                            break
                    if m0 == 0:
                        empty, ea = gain, first
                    if gain > best * (1 + 1e-9) or bp < 0:
                        best, bp, ba = gain, p, first
                if empty * (1 + 1e-4) >= best:
                    bp, ba = 0, ea
                t = low[bp]
                while pat[t] != bp:
                    t += 1
                low[bp] = t  # patterns rarely gain environments before the first; see below
                j, a = t, ba
        p, m, s = pat[j], 0, 0.0
        for k in range(K):
            if asked[j, k]:
                m += 1
                s += Y[j, k]
        f, f2, s2_ = r / (1 + r * m), r / (1 + r * (m + 1.0)), s + Y[j, a]
        for k in range(K):
            if asked[j, k]:
                g[k] += f * s - f2 * s2_
                for q in range(K):
                    if asked[j, q]:
                        A[k, q] += f - f2
                A[k, a] -= f2
                A[a, k] -= f2
        A[a, a] += 1 - f2
        g[a] += Y[j, a] - f2 * s2_
        asked[j, a] = True
        seen = max(seen, j + 1)
        pairs[used, 0], pairs[used, 1] = j, a
        used += 1
        c = child[p, a]
        if c < 0:
            for e in range(P):
                same = True
                for k in range(K):
                    if B[e, k] != asked[j, k]:
                        same = False
                        break
                if same:
                    c = e
                    break
            if c < 0:
                if cap == P:
                    B2, child2 = np.zeros((2 * cap, K), np.bool_), np.full((2 * cap, K), -1, np.int64)
                    B2[:cap], child2[:cap] = B, child
                    B, child = B2, child2
                    cnt = np.append(cnt, np.zeros(cap, np.int64))
                    size = np.append(size, np.zeros(cap, np.int64))
                    low = np.append(low, np.zeros(cap, np.int64))
                    cap *= 2
                c = P
                P += 1
                B[c] = asked[j]
                size[c] = size[p] + 1
            child[p, a] = c
        cnt[p] -= 1
        cnt[c] += 1
        pat[j] = c
        low[c] = min(low[c], j) if cnt[c] > 1 else j
    A, g, r, s2 = _fit(Y, asked, np.arange(seen), K)
    return np.argmax(np.linalg.inv(A) @ g), pairs


@njit(cache=True)
def paired_halving(Y, T):
    """Successive halving in which all remaining models answer the same items, and keep their earlier scores."""
    N, K = Y.shape
    alive, total = np.ones(K, np.bool_), np.zeros(K)
    left, position, used, rounds = K, 0, 0, int(np.ceil(np.log2(K)))
    for round_ in range(rounds):
        n = max(min((T - used) // ((rounds - round_) * left), N - position), 1 if position == 0 else 0)
        for j in range(position, position + n):
            for k in range(K):
                if alive[k]:
                    total[k] += Y[j, k]
        position += n
        used += n * left
        keep = (left + 1) // 2
        while left > keep:
            worst = -1
            for k in range(K):
                if alive[k] and (worst < 0 or total[k] < total[worst]):
                    worst = k
            alive[worst] = False
            left -= 1
    return np.argmax(np.where(alive, total, -np.inf))


@njit(cache=True)
def ucb_e(Y, T, a=1.0):
    """UCB-E: the model with the largest mean + sqrt(a / n) answers its next item; all use the same order."""
    N, K = Y.shape
    n, total = np.zeros(K, np.int64), np.zeros(K)
    for _ in range(T):
        best, bound = -1, -np.inf
        for k in range(K):
            if n[k] < N:
                u = np.inf if n[k] == 0 else total[k] / n[k] + np.sqrt(a / n[k])
                if u > bound:
                    bound, best = u, k
        total[best] += Y[n[best], best]
        n[best] += 1
    return np.argmax(np.where(n > 0, total / np.maximum(n, 1), -np.inf))


@njit(cache=True)
def race(Y, threshold, proven, tolerance, first):
    """Race of all models on Y (items in their random order x models): the pick, the calls, and whether sure.

    `threshold` is the logarithm of the capital (proven) or the deviate (calibrated) that drops a model.
    """
    N, K = Y.shape
    alive = np.ones(K, np.bool_)
    S, Q, L, M = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    used = 0
    for t in range(N):
        n = t + 1
        for i in range(K):
            if alive[i]:
                used += 1
                for k in range(K):
                    if k != i and alive[k]:
                        d = Y[t, i] - Y[t, k]
                        if proven:
                            for side in range(2 if tolerance > 0 else 1):
                                W = L if side == 0 else M
                                m = -(S[i, k] + side * tolerance * N) / (N - t)
                                if m < -1.0 - 1e-12:
                                    W[i, k] = np.inf
                                elif -1.0 < m < 1.0:
                                    v = (Q[i, k] + 0.25) / n
                                    e = S[i, k] / n - m
                                    lam = min(max(e / (v + e * e), 0.0), 0.5 / (1 + m))
                                    W[i, k] += np.log1p(lam * (d - m))
                        S[i, k] += d
                        Q[i, k] += d * d
        for k in range(K):
            for i in range(K):
                if i == k or not alive[k] or not alive[i]:
                    continue
                if n == N:
                    out = S[i, k] > 0
                elif proven:
                    out = L[i, k] >= threshold
                else:
                    out = n >= first and deviate(S[i, k], Q[i, k], n, N, 0.0) >= threshold
                if out:
                    alive[k] = False
        left = 0
        for i in range(K):
            left += alive[i]
        if left == 1:
            break
        if tolerance > 0:
            for i in range(K):
                good = alive[i]
                for k in range(K):
                    if good and k != i and alive[k]:
                        if proven:
                            good = M[i, k] >= threshold
                        else:
                            good = n >= first and deviate(S[i, k], Q[i, k], n, N, tolerance) >= threshold
                if good:
                    return i, used, True
    best = -1
    for i in range(K):
        if alive[i] and (best < 0 or S[i, best] > 0):
            best = i
    left = 0
    for i in range(K):
        left += alive[i]
    return best, used, left == 1


@njit(cache=True)
def deviate(s, q, n, N, tolerance):
    """Signed root of the likelihood ratio that the mean difference is above -tolerance, with one adverse item."""
    s = s + tolerance * n - 1.0
    q = q + 2 * tolerance * (s + 1.0 - tolerance * n) + tolerance**2 * n + 1.0
    if s <= 0:
        return 0.0
    rest = q - s * s / (n + 1)
    if rest <= 0:
        return np.inf
    return np.sqrt((n + 1) * np.log(q / rest) / (1 - n / N))
