"""
A person in the loop
====================

Sixty questions on the terminal, "how alike are these two, 0 to 10?", teach a model to sort a list of things to do. Run
it in a terminal to answer yourself; elsewhere, a stand-in answers.
"""

import sys

from similitude import FromPairs, SimilarityClassifier
from similitude.errors import BudgetError

KNOWN = {
    "buy bread": "home",
    "water the plants": "home",
    "call the plumber": "home",
    "clean the windows": "home",
    "write the report": "work",
    "answer the client": "work",
    "prepare the meeting": "work",
    "review the budget": "work",
}
NEW = ["fix the door", "send the invoice"]
STAND_IN = {**KNOWN, "fix the door": "home", "send the invoice": "work"}
QUESTIONS = 60
at_a_terminal = sys.stdin is not None and sys.stdin.isatty()


def ask(one, other):
    """Ask the person how alike two things are, from 0 to 1."""
    if not at_a_terminal:
        return 0.9 if STAND_IN[one] == STAND_IN[other] else 0.2
    while True:
        answer = input(f"How alike are {one!r} and {other!r}, 0 to 10? ")
        if answer.strip().isdigit() and 0 <= int(answer) <= 10:
            return int(answer) / 10


# %%
# Alikeness has no direction, so that each pair is asked once; what was answered is remembered.
alike = FromPairs(ask, claims=["SYMMETRIC"]).cached()
things, kinds = list(KNOWN), list(KNOWN.values())
model = SimilarityClassifier(alike, landmark_indices=[0, 1, 4, 5], side="left", max_calls=QUESTIONS, random_state=0)
try:
    model.fit(things, kinds)
except BudgetError as error:
    sys.exit(f"sixty questions did not suffice: {error}")
sorted_into = dict(zip(NEW, model.predict(NEW).tolist(), strict=True))
print(model.calls_)
print(sorted_into)
