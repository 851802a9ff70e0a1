"""Rules that ask for each pair of an arm and an environment at most once, played on a matrix of all scores.

`ask_valuable_pairs` chooses the pairs that `policies.environment_choice` chooses one at a time; the formulas
are there, in `score_model` and `pair_values`. The other rules are its rivals. Each rule gets the scores
(environments in a random order x arms), the budget, and an array `pairs` with a row for each call, into
which it writes the environment and the arm. It returns the arm that it selects. Matrices are inverted by
LAPACK, so rounding may decide differently between pairs of equal value when a rule is compiled.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_linker import kernel

FULL_ENVIRONMENTS = 5  # number of environments that are asked of all arms first, if the budget is large
TIE = 1e-4  # a gain must be larger by this share to be preferred to that of a new environment
ROUNDING = 1e-9  # gains that differ by less are equal
LOOKAHEAD = 3  # number of arms added at once to a pattern that was asked of few arms
RIDGE = 1e-6  # makes the information matrix invertible before all arms have scores
FIRST_RATIO = 0.5  # variance of the environments divided by that of the noise, before it is estimated
PRIOR_SHARE = 0.3  # share of the environments in the variance of a score, before it is estimated
PRIOR_PAIRS = 40.0  # number of pairs of scores that this prior share counts as
LARGEST_SHARE = 0.98
EXPLORATION = 1.0  # parameter `a` of UCB-E


@kernel
def information(scores, asked, rows, ratio):
    """Return the information matrix A and the vector g of the first environments."""
    K = scores.shape[1]
    A, g = np.zeros((K, K)), np.zeros(K)
    for j in range(rows):
        m, total = 0, 0.0
        for k in range(K):
            if asked[j, k]:
                m += 1
                total += scores[j, k]
        shrink = ratio / (1.0 + ratio * m)
        for a in range(K):
            if asked[j, a]:
                A[a, a] += 1.0
                g[a] += scores[j, a] - shrink * total
                for b in range(K):
                    if asked[j, b]:
                        A[a, b] -= shrink
    for k in range(K):
        A[k, k] += RIDGE
    return A, g


@kernel
def variances(scores, asked, rows, means):
    """Return the variance of the environments divided by that of the noise, and the latter."""
    covariance, pairs, squares, count = 0.0, 0.0, 0.0, 0.0
    for j in range(rows):
        total, own, m = 0.0, 0.0, 0
        for k in range(scores.shape[1]):
            if asked[j, k]:
                residual = scores[j, k] - means[k]
                total += residual
                own += residual * residual
                m += 1
        squares += own
        count += m
        covariance += total * total - own
        pairs += m * (m - 1.0)
    variance = max(squares / max(count, 1.0), 1e-12)
    share = (covariance + PRIOR_SHARE * variance * PRIOR_PAIRS) / (pairs + PRIOR_PAIRS) / variance
    share = min(max(share, 0.0), LARGEST_SHARE)
    return share / (1.0 - share), variance * (1.0 - share)


@kernel
def fit_pairs(scores, asked, rows):
    """Return A, g, the ratio of the variances and the variance of the noise, from the first environments."""
    ratio, noise = FIRST_RATIO, 1.0
    for _ in range(2):
        A, g = information(scores, asked, rows, ratio)
        ratio, noise = variances(scores, asked, rows, np.linalg.inv(A) @ g)
    A, g = information(scores, asked, rows, ratio)
    return A, g, ratio, noise


@kernel
def lead_weights(A, g, noise, used, budget, environments):
    """Return the matrix G of the leads that matter, and whether any lead is uncertain."""
    K = len(g)
    inverse = np.linalg.inv(A)
    means = inverse @ g
    best = np.argmax(means)
    heat = np.sqrt(budget / max(budget - used + 0.02 * budget, 1.0))
    logs, largest = np.zeros(K), -np.inf
    for k in range(K):
        variance = noise * (inverse[best, best] + inverse[k, k] - 2.0 * inverse[best, k] - 2.0 / environments)
        logs[k] = -np.inf
        if k != best and variance > 1e-9 * noise:
            logs[k] = -0.5 * heat * (means[best] - means[k]) ** 2 / variance - 0.5 * np.log(variance)
        largest = max(largest, logs[k])
    G = np.zeros((K, K))
    if largest == -np.inf:
        return G, False
    for k in range(K):
        weight = np.exp(logs[k] - largest)
        if weight > 0.0:
            for i in range(K):
                scaled = weight * (inverse[i, best] - inverse[i, k])
                for q in range(K):
                    G[i, q] += scaled * (inverse[q, best] - inverse[q, k])
    return G, True


@kernel
def pattern_gain(G, ratio, pattern, size, inside, cross):
    """Return the largest gain per call of adding arms to a pattern, and the arm to add first.

    `inside` and `cross` are working memory.
    """
    K = len(pattern)
    m, trace, total = size, 0.0, 0.0
    cross[:] = 0.0
    for k in range(K):
        inside[k] = pattern[k]
        if inside[k]:
            trace += G[k, k]
            for i in range(K):
                cross[i] += G[k, i]
    for k in range(K):
        if inside[k]:
            total += cross[k]
    start = trace - ratio / (1.0 + ratio * m) * total
    cost, found, gain, first = 0, 0, -np.inf, -1
    while m < K:
        arm, most, shrink = -1, -np.inf, ratio / (1.0 + ratio * (m + 1.0))
        for i in range(K):
            if not inside[i]:
                value = trace + G[i, i] - shrink * (total + G[i, i] + 2.0 * cross[i])
                if value > most:
                    most, arm = value, i
        cost += 1
        if cost == 1:
            first = arm
        rate = (most - start) / cost
        if rate > gain * (1.0 + 1e-12):
            gain, found = rate, cost
        inside[arm] = True
        trace += G[arm, arm]
        total += G[arm, arm] + 2.0 * cross[arm]
        m += 1
        for i in range(K):
            cross[i] += G[arm, i]
        if not (cost < found + 2 and (cost < LOOKAHEAD or size == 0)):
            break
    return gain, first


@kernel
def best_pattern(G, ratio, patterns, counts, sizes, known):
    """Return the pattern and the arm whose addition gains most per call; pattern 0 is that of new ones."""
    K = G.shape[0]
    inside, cross = np.zeros(K, np.bool_), np.zeros(K)
    best, pattern, arm, new, new_arm = -np.inf, -1, 0, -np.inf, 0
    for p in range(known):
        if counts[p] == 0 or sizes[p] == K:
            continue
        gain, first = pattern_gain(G, ratio, patterns[p], sizes[p], inside, cross)
        if sizes[p] == 0:
            new, new_arm = gain, first
        if gain > best * (1.0 + ROUNDING) or pattern < 0:
            best, pattern, arm = gain, p, first
    if new * (1.0 + TIE) >= best:
        return 0, new_arm
    return pattern, arm


@kernel
def add_pair(scores, asked, A, g, ratio, j, a):
    """Add the score of a pair to A and g."""
    K = scores.shape[1]
    m, total = 0, 0.0
    for k in range(K):
        if asked[j, k]:
            m += 1
            total += scores[j, k]
    before, after = ratio / (1.0 + ratio * m), ratio / (1.0 + ratio * (m + 1.0))
    more = total + scores[j, a]
    for k in range(K):
        if asked[j, k]:
            g[k] += before * total - after * more
            for q in range(K):
                if asked[j, q]:
                    A[k, q] += before - after
            A[k, a] -= after
            A[a, k] -= after
    A[a, a] += 1.0 - after
    g[a] += scores[j, a] - after * more
    asked[j, a] = True


@kernel
def find_pattern(patterns, known, wanted):
    """Return the number of a pattern, or -1 if it did not occur."""
    for p in range(known):
        same = True
        for k in range(len(wanted)):
            if patterns[p, k] != wanted[k]:
                same = False
                break
        if same:
            return p
    return -1


@kernel
def ask_most_valuable(scores, budget, pairs, rarely):
    """Ask for the most valuable pair, again and again.

    If `rarely`, the variances are estimated only after every 5 % of the calls, which makes thousands of runs
    possible, and not after each.
    """
    N, K = scores.shape
    asked, pattern_of = np.zeros((N, K), np.bool_), np.zeros(N, np.int64)
    patterns, counts, sizes = np.zeros((64, K), np.bool_), np.zeros(64, np.int64), np.zeros(64, np.int64)
    child, first_row = np.full((64, K), -1, np.int64), np.zeros(64, np.int64)
    known, fitted, rows = 1, 0, 0
    counts[0] = N
    full = max(1, min(FULL_ENVIRONMENTS, budget // (4 * K)))
    A, g = np.zeros((K, K)), np.zeros(K)
    ratio, noise = FIRST_RATIO, 1.0
    for used in range(budget):
        j, a = used // K, used % K
        if used >= full * K:
            if fitted == 0 or used - fitted >= (max(2 * K, used // 20) if rarely else 1):
                A, g, ratio, noise = fit_pairs(scores, asked, rows)
                fitted = used
            G, uncertain = lead_weights(A, g, noise, used, budget, N)
            if uncertain:
                p, a = best_pattern(G, ratio, patterns, counts, sizes, known)
                j = first_row[p]
                while pattern_of[j] != p:
                    j += 1
                first_row[p] = j
            else:
                j, a = 0, 0
                while asked[j, a]:
                    a += 1
                    if a == K:
                        j, a = j + 1, 0
        add_pair(scores, asked, A, g, ratio, j, a)
        rows = max(rows, j + 1)
        pairs[used, 0], pairs[used, 1] = j, a
        p = pattern_of[j]
        new = child[p, a]
        if new < 0:
            new = find_pattern(patterns, known, asked[j])
            if new < 0:
                if known == len(counts):
                    patterns = np.concatenate((patterns, np.zeros((known, K), np.bool_)))
                    child = np.concatenate((child, np.full((known, K), -1, np.int64)))
                    counts = np.append(counts, np.zeros(known, np.int64))
                    sizes = np.append(sizes, np.zeros(known, np.int64))
                    first_row = np.append(first_row, np.zeros(known, np.int64))
                new = known
                known += 1
                patterns[new] = asked[j]
                sizes[new] = sizes[p] + 1
            child[p, a] = new
        counts[p] -= 1
        counts[new] += 1
        pattern_of[j] = new
        first_row[new] = min(first_row[new], j) if counts[new] > 1 else j
    A, g, ratio, noise = fit_pairs(scores, asked, rows)
    return np.argmax(np.linalg.inv(A) @ g)


@kernel
def ask_valuable_pairs(scores, budget, pairs):
    """Ask for the most valuable pair, again and again, with variances that are estimated rarely."""
    return ask_most_valuable(scores, budget, pairs, True)


@kernel
def ask_by_paired_halving(scores, budget, pairs):
    """Drop half of the arms several times; all remaining arms have answered the same environments.

    Successive halving, in which the arms keep their earlier scores. The budget must be at least the number
    of arms.
    """
    N, K = scores.shape
    alive, totals = np.ones(K, np.bool_), np.zeros(K)
    left, position, used, rounds = K, 0, 0, int(np.ceil(np.log2(K)))
    for r in range(rounds):
        n = max(min((budget - used) // ((rounds - r) * left), N - position), 1 if position == 0 else 0)
        for j in range(position, position + n):
            for k in range(K):
                if alive[k]:
                    totals[k] += scores[j, k]
                    pairs[used, 0], pairs[used, 1] = j, k
                    used += 1
        position += n
        keep = (left + 1) // 2
        while left > keep:
            worst = -1
            for k in range(K):
                if alive[k] and (worst < 0 or totals[k] < totals[worst]):
                    worst = k
            alive[worst] = False
            left -= 1
    return np.argmax(np.where(alive, totals, -np.inf))


@kernel
def ask_by_ucb_e(scores, budget, pairs):
    """Ask the arm with the largest mean + sqrt(a / n) for its next environment; all use the same order.

    Audibert, Bubeck, Munos (2010), Best arm identification in multi-armed bandits.
    """
    N, K = scores.shape
    n, totals = np.zeros(K, np.int64), np.zeros(K)
    for used in range(budget):
        best, bound = -1, -np.inf
        for k in range(K):
            if n[k] < N:
                upper = np.inf if n[k] == 0 else totals[k] / n[k] + np.sqrt(EXPLORATION / n[k])
                if upper > bound:
                    bound, best = upper, k
        totals[best] += scores[n[best], best]
        pairs[used, 0], pairs[used, 1] = n[best], best
        n[best] += 1
    return np.argmax(np.where(n > 0, totals / np.maximum(n, 1), -np.inf))
