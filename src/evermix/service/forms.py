"""The forms of bodies, by what requests call them."""

from evermix.service.bodies import Observations, observations
from evermix.service.npy import tagged_array

ARRAY = "npy"
FORMS = {
    "application/json": "json",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/x-npy": ARRAY,
}


def taken(body: bytes, form: str, most: int) -> Observations:
    """Return the observations of a body, ``most`` at most, or raise BodyError."""
    return tagged_array(body, most) if form == ARRAY else observations(body, form, most)
