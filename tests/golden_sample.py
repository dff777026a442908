"""A small library with questions, for the tests of evaluation."""

from __future__ import annotations

from dataclasses import replace

from footnotes.evaluate.golden import Question

DOCUMENTS = {
    "lease.md": "# Lease\n\nThe rent is 950 euros a month, payable in advance. "
    "Notice must be given in writing three months ahead.\n",
    "oven.md": "# Oven\n\nError E-17 means that the thermocouple is broken. "
    "Brush the stone clean with a stiff brush while it is warm.\n",
    "bees.md": "# Bees\n\nThe hives stand on the flat roof of the house. "
    "Each colony needs fifteen kilograms of food in winter.\n",
}
QUESTIONS = [
    Question(
        "1", "How many euros is the rent?", {"lease.md": 1}, ("The rent is 950 euros a month",), answer="950 euros"
    ),
    Question("2", "What does error E-17 mean?", {"oven": 2}, spans=(("oven.md", 8, 52),)),
    Question("3", "food of a colony in winter", {"bees.md": 1, "missing.md": 1}),
    Question("4", "Who discovered penicillin?", answerable=False),
]
MANY = [replace(QUESTIONS[at % 3], id=str(at)) for at in range(20)]
