"""The options of ``evermix serve``."""

from dataclasses import replace

from evermix.cli.options.option import Option
from evermix.cli.options.table import EVERY, MAX_WAIT, WEBHOOK

ACCESS, LIMITS = "Access", "Limits"

SERVE = (
    Option(
        "folder",
        "Where the models are kept; it is made if need be.",
        metavar="FOLDER",
        argument=True,
        saved=False,
        file="folder",
    ),
    Option(
        "model",
        "Let the model NAME begin with a file of `evermix fit`, `evermix stream` or Mixture.save, "
        "unless there is a model of that name, which goes on. Can be given several times.",
        repeated=True,
        metavar="NAME=FILE",
        saved=False,
    ),
    Option(
        "host",
        "Address to listen at. Others than this machine's own need a token.",
        ACCESS,
        default="127.0.0.1",
        saved=False,
    ),
    Option(
        "port",
        "Port to listen at; 0 takes a free one.",
        ACCESS,
        int,
        8765,
        min=0,
        max=65535,
        saved=False,
    ),
    Option(
        "token",
        "What every request must bring as Authorization: Bearer TOKEN (default: the "
        "environment's EVERMIX_TOKEN).",
        ACCESS,
        saved=False,
    ),
    replace(WEBHOOK, panel=ACCESS),
    Option("max_body", "Bytes of a request.", LIMITS, int, 2**23, min=1, saved=False),
    Option("max_batch", "Observations in a request.", LIMITS, int, 10_000, min=1, saved=False),
    replace(
        MAX_WAIT,
        help="Refuse requests whose body has not come after so many seconds.",
        panel=LIMITS,
        default=30.0,
    ),
    Option(
        "queue",
        "Requests that may wait for a model; more are refused with status 429.",
        LIMITS,
        int,
        256,
        min=1,
        saved=False,
    ),
    Option(
        "rate",
        "Requests per second from one address; more are refused with status 429.",
        LIMITS,
        float,
        min=0.01,
        saved=False,
    ),
    replace(
        EVERY,
        help="Seconds between two checkpoints; what came since is in a log.",
        type=float,
        default=60.0,
        min=0.01,
    ),
)
