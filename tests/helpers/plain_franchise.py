"""The word loops of topic models in plain Python, as they are written down."""

import numpy as np


def _chosen(weights, uniform):
    target = uniform * sum(weights)
    for i, weight in enumerate(weights):
        if target < weight:
            return i
        target -= weight
    raise AssertionError("rounding")


def per_table(u, N):
    """What one more table does to u^(N - 1) / Gamma(N)."""
    return u / N if N else 1.0


class PlainMenu:
    """Dishes with the tables and words that they have; None for empty slots."""

    def __init__(self, words, chain, offers, factor):
        self.words, self.beta, self.factor = words, chain.beta, factor
        self.u, self.sigma0 = chain.measure.u, offers.discount
        self.new, self.newborn = np.exp(offers.new), np.exp(offers.newborn)
        atoms, counts = chain.occupancy(words), chain.counts(words).toarray()
        self.share = [np.exp(offers.atoms[:, k]) for k in range(chain.K)]
        self.kind, self.m = list(offers.kind), list(atoms.sizes)
        self.c, self.holes = [counts[:, k].copy() for k in range(chain.K)], []
        self.N = atoms.n.copy()
        self.lists = [
            sorted(([k, int(c[k])] for k in range(chain.K) if c[k]), key=lambda one: -one[1])
            for c in counts
        ]

    def recount(self, x, before, after):
        """Move a word from one topic to another in the list of its topics, which stays sorted."""
        if before == after:
            return
        some = self.lists[x]
        j = next(j for j, (k, _) in enumerate(some) if k == before)
        i = max(i for i, one in enumerate(some) if one[1] == some[j][1])
        some[i][0], some[j][0] = before, some[i][0]
        some[i][1] -= 1
        if not some[i][1]:
            some.pop()
        if after not in [k for k, _ in some]:
            some.append([after, 0])
        j = next(j for j, (k, _) in enumerate(some) if k == after)
        i = min(i for i, one in enumerate(some) if one[1] == some[j][1])
        some[i][0], some[j][0] = after, some[i][0]
        some[i][1] += 1

    def parts(self, x, own):
        """Return the topics that have a word, with how often, and then all, with beta."""
        total = [self.words.size * self.beta + c.sum() for c in self.c]
        some = [(k, (n - (k == own)) / total[k]) for k, n in self.lists[x]]
        return some + [(k, self.beta / total[k]) for k in range(len(self.m))]

    def options(self, t):
        """Weights of all dishes and kinds of new ones, for one more table of time t."""
        f = self.factor(self.u[t], self.N[t])
        old = [
            f * s[t] * (m - self.sigma0) if m else 0.0
            for s, m in zip(self.share, self.m, strict=True)
        ]
        return old, [f * weight for weight in self.new[t]]

    def close(self, t, k):
        self.N[t] -= 1
        self.m[k] -= 1
        if not self.m[k]:
            self.holes.append(k)

    def open(self, t, k):
        self.N[t] += 1
        self.m[k] += 1

    def bear(self, kind):
        if not self.holes:
            self.holes.append(len(self.m))
            for values in (self.share, self.kind, self.m, self.c):
                values.append(0)
        k = self.holes.pop()
        self.share[k], self.kind[k] = self.newborn[:, kind], kind
        self.m[k], self.c[k] = 0, np.zeros(self.words.size, dtype=int)
        return k


def plain_seats(words, chain, offers, rng, factor=per_table):
    """Let all words choose tables; jumps integrated out."""
    menu, (a, sigma) = (
        PlainMenu(words, chain, offers, factor),
        (chain.seating.a, chain.seating.sigma),
    )
    for d in words.order:
        t = words.time[d]
        u, some = chain.seating.u[d], range(words.start[d], words.start[d + 1])
        n = [
            int((chain.table[some] == j).sum())
            for j in range(chain.table[some].max(initial=-1) + 1)
        ]
        order = [int(chain.dish[some][chain.table[some] == j][0]) for j in range(len(n))]
        for w in some:
            x, k = words.word[w], chain.dish[w]
            menu.c[k][x] -= 1
            n[chain.table[w]] -= 1
            if not n[chain.table[w]]:
                menu.close(t, k)
            opening = a * (1 + u) ** (sigma - 1)
            old, new = menu.options(t)
            options = []  # weight, dish, table
            for k, p in menu.parts(x, chain.dish[w]):
                options += [((n[j] - sigma) / (1 + u) * p, k, j)
                            for j in range(len(n)) if n[j] and order[j] == k]  # fmt: skip
                options.append((opening * old[k] * p, k, None))
            options += [(opening * weight / words.size, None, i) for i, weight in enumerate(new)]
            _, k, j = options[_chosen([weight for weight, *_ in options], rng.random())]
            if k is None:
                k, j = menu.bear(j), None
            if j is None:
                j = n.index(0) if 0 in n else len(n)
                if j == len(n):
                    n.append(0)
                    order.append(k)
                order[j] = k
                menu.open(t, k)
            n[j] += 1
            menu.c[k][x] += 1
            menu.recount(x, chain.dish[w], k)
            chain.dish[w], chain.table[w] = k, j
        _number(chain, some)
    _settle(chain, menu)


def _number(chain, some):
    names = {}
    for w in some:
        chain.opens[w] = chain.table[w] not in names
        chain.table[w] = names.setdefault(int(chain.table[w]), len(names))


def _settle(chain, menu):
    totals = np.bincount(chain.dish, minlength=len(menu.kind))
    chain.renumber(totals, *chain.measure.unfold(np.array(menu.kind)))


def stirling(n_max, sigma):
    S = np.zeros((n_max + 2, n_max + 3))
    S[0, 0] = 1
    for n in range(n_max + 1):
        S[n + 1, 0] = 0
        for t in range(1, n + 2):
            S[n + 1, t] = S[n, t - 1] + (n - t * sigma) * S[n, t]
    return S


def plain_indicators(words, chain, offers, rng, factor=per_table):
    """Let all words choose dishes and indicators; jumps integrated out."""
    menu, (a, sigma) = (
        PlainMenu(words, chain, offers, factor),
        (chain.seating.a, chain.seating.sigma),
    )
    S = stirling(int(words.lengths.max()), sigma)
    for d in words.order:
        time = words.time[d]
        u, some = chain.seating.u[d], range(words.start[d], words.start[d + 1])
        n, t = np.zeros(100, dtype=int), np.zeros(100, dtype=int)
        for w in some:
            n[chain.dish[w]] += 1
            t[chain.dish[w]] += chain.opens[w]
        for w in some:
            x, k = words.word[w], chain.dish[w]
            uniform = rng.random() * n[k]
            opened = uniform < t[k]
            uniform = uniform / t[k] if opened else (uniform - t[k]) / (n[k] - t[k])
            if opened and t[k] == 1 and n[k] > 1:
                continue
            n[k] -= 1
            menu.c[k][x] -= 1
            if opened:
                t[k] -= 1
                menu.close(time, k)
            opening = a * (1 + u) ** (sigma - 1)
            old, new = menu.options(time)
            options = []  # weight, dish, whether a table opens
            for j, p in menu.parts(x, chain.dish[w]):
                s = S[n[j], t[j]]
                join = S[n[j] + 1, t[j]] / s * (n[j] + 1 - t[j]) / (n[j] + 1) / (1 + u)
                top = S[n[j] + 1, t[j] + 1] / s * (t[j] + 1) / (n[j] + 1) * opening
                options.append((join * p if n[j] else 0.0, j, False))
                options.append((top * old[j] * p, j, True))
            options += [(opening * weight / words.size, None, i) for i, weight in enumerate(new)]
            _, k, opened = options[_chosen([weight for weight, *_ in options], uniform)]
            if k is None:
                k, opened = menu.bear(opened), True
            n[k] += 1
            menu.c[k][x] += 1
            if opened:
                t[k] += 1
                menu.open(time, k)
            menu.recount(x, chain.dish[w], k)
            chain.dish[w] = k
        for w in some:
            chain.opens[w] = t[chain.dish[w]] > 0
            t[chain.dish[w]] -= 1
    _settle(chain, menu)
