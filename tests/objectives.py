"""Losses and penalties of the linear model, by short names for parametrized tests."""

OBJECTIVES = {
    "ridge": {"loss": "squared"},
    "logistic": {"loss": "logistic"},
    "squared_hinge": {"loss": "squared_hinge"},
    "l1": {"penalty": "l1"},
}
