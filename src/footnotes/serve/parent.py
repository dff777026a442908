"""Processes that end with the one that started them, however that one ends."""

from __future__ import annotations

import os
import signal
import threading
import time

LOOK_SECONDS = 0.5
GRACE_SECONDS = 3.0


def end_with_parent(parent: int) -> None:
    """End this process soon after its parent has, or had before this: in order if it can be quick, else at once.

    A parent that is killed says nothing. Its work is not lost: whoever starts next goes on with it.
    """
    threading.Thread(target=_watch, args=(parent,), name="footnotes-parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)
