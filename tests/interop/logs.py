"""Reads a run's event file with TensorBoard and prints "TAG STEP VALUE" lines.

usage: logs.py RUN
"""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

if len(sys.argv) != 2:
    sys.exit(__doc__)
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    for event in events.Scalars(tag):
        print(tag, event.step, repr(event.value))
