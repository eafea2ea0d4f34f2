"""Topics over the years: subjects come and go, and one year has no documents."""

import numpy as np

import evermix as em
from pictures import save

SUBJECTS = ["sea ship port sail wave", "star moon orbit sky sun", "bread oven salt flour dough"]
SUBJECTS += ["goal match team ball fan", "chip cache code loop stack"]
rng = np.random.default_rng(0)
words = [subject.split() for subject in SUBJECTS]
years = np.repeat([y for y in range(2010, 2022) if y != 2016], 20)
peaks = np.array([2009, 2012, 2015, 2018, 2021])
liked = np.exp(-(((years[:, None] - peaks) / 2.5) ** 2))
subject = np.array([rng.choice(5, p=p / p.sum()) for p in liked])
X = rng.poisson(np.where(np.repeat(np.eye(5), 5, axis=1)[subject], 4.0, 0.2))
model = em.TopicModel(burn_in=1000, draws=300, random_state=0)
model.fit(X, times=years)
save(em.plot.topics(model, sum(words, []), title="Five subjects"), "topics")
