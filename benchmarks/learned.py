"""Learned kernels on tables beside boosted trees: `python -m benchmarks.learned FOLDER [--sets bike,adult]`.

FOLDER holds the data sets that `FILES` names, as .npz files or tables. Every method has its defaults, gets the raw
columns, and runs on one thread in this process; seconds are those of the CPU. Regression is measured by the root mean
squared error relative to the standard deviation of the targets, classification by the error and the log loss;
summaries are ratios to CatBoost's. `--results FILE` keeps every run, and runs that it holds are not repeated. xRFM
(`--methods auto,xrfm`) needs torch, gets standardized columns and indicators, and a fifth of the rows to validate.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from similitude import SimilarityClassifier, SimilarityRegressor, use_engine
from similitude.engines import LocalEngine

FILES = {
    "bike": "uci_bike.npz",
    "kin40k": "uci_kin40k.npz",
    "protein": "uci_protein.npz",
    "flights": "flights_3m.parquet",
    "letter": "letter.npz",
    "magic": "adbench_magic_gamma.npz",
    "satellite": "satellite.npz",
    "sonar": "sonar.npz",
    "usps": "usps.npz",
    "musk": "musk.csv.gz",
    "adult": "table_adult_uci.csv.gz",
    "churn": "table_mlc_churn.csv.gz",
    "attrition": "table_attrition.csv.gz",
    "income": "income.csv.gz",
}
TARGETS = {
    "flights": "delay",
    "musk": "Class",
    "adult": "income",
    "churn": "churn",
    "attrition": "Attrition",
    "income": "INCOME",
}
REGRESSION = ("bike", "kin40k", "protein", "flights")


class Problem(NamedTuple):
    """Rows to learn from, and rows to predict."""

    X: Any
    y: np.ndarray
    new: Any
    truth: np.ndarray
    regression: bool


def read(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    path = folder / FILES[name]
    if path.suffix == ".npz":
        stored = np.load(path, allow_pickle=False)
        suffix = "_train" if "X_train" in stored.files else ""
        return stored[f"X{suffix}"].astype(float), stored[f"y{suffix}"]
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    target = next(column for column in table.columns if column.lower() == TARGETS[name].lower())
    table = table.dropna(subset=[target])
    if name == "flights":
        table = table.sample(50_000, random_state=0)
    return table.drop(columns=target), table[target].to_numpy()


def problem(folder: Path, name: str, rows: int, seed: int) -> Problem:
    X, y = read(folder, name)
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(rows, int(0.75 * len(y)))
    train, new = order[:n], order[n : n + 5000]
    pick = (lambda at: X.iloc[at].reset_index(drop=True)) if isinstance(X, pd.DataFrame) else (lambda at: X[at])
    y = y.astype(float) if name in REGRESSION else y.astype(str)
    return Problem(pick(train), y[train], pick(new), y[new], name in REGRESSION)


def encoded(X: Any, like: Any) -> Any:
    """Return columns of texts and times as categories and seconds, as trees take them."""
    if not isinstance(X, pd.DataFrame):
        return X
    made = X.copy()
    for name in X.columns:
        if str(like[name].dtype).startswith("datetime"):
            made[name] = X[name].astype("int64")
        elif like[name].dtype.kind not in "iufb":
            texts, known = (side[name].astype(object).fillna("missing").astype(str) for side in (X, like))
            made[name] = pd.Categorical(texts, sorted(set(known)))
    return made


def similitude(of: Problem) -> Any:
    maker = SimilarityRegressor if of.regression else SimilarityClassifier
    return maker("auto", random_state=0).fit(of.X, of.y)


def isotropic(of: Problem) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    maker = SimilarityRegressor if of.regression else SimilarityClassifier
    if isinstance(of.X, pd.DataFrame):
        from similitude.kernels import Gaussian, Tabular

        return maker(Tabular(Gaussian()), random_state=0).fit(of.X, of.y)
    return make_pipeline(StandardScaler(), maker("gaussian", random_state=0)).fit(of.X, of.y)


def catboost(of: Problem) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    maker = CatBoostRegressor if of.regression else CatBoostClassifier
    texts = [name for name in of.X if of.X[name].dtype == "category"] if isinstance(of.X, pd.DataFrame) else []
    X = of.X.assign(**{name: of.X[name].astype(object) for name in texts}) if texts else of.X
    return maker(verbose=0, thread_count=1, cat_features=texts or None, allow_writing_files=False).fit(X, of.y)


def lightgbm(of: Problem) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if of.regression else LGBMClassifier)(verbose=-1, n_jobs=1).fit(of.X, of.y)


def hist(of: Problem) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    maker = HistGradientBoostingRegressor if of.regression else HistGradientBoostingClassifier
    return maker(categorical_features="from_dtype").fit(of.X, of.y)


class Decoded(NamedTuple):
    """A classifier of class numbers, with the labels of these."""

    model: Any
    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.asarray(self.model.predict(X)).astype(int).ravel()]

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X)


class Standardized(NamedTuple):
    """A model of standardized columns in single precision."""

    model: Any
    scaler: Any

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(self.scaler.transform(X).astype(np.float32))

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self.scaler.transform(X).astype(np.float32))


def xgboost(of: Problem) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    options = {"n_jobs": 1, "enable_categorical": True}
    if of.regression:
        return XGBRegressor(**options).fit(of.X, of.y)
    classes, codes = np.unique(of.y, return_inverse=True)
    return Decoded(XGBClassifier(**options).fit(of.X, codes), classes)


def forest(of: Problem) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    model = (RandomForestRegressor if of.regression else RandomForestClassifier)(random_state=0)
    if not isinstance(of.X, pd.DataFrame):
        return model.fit(of.X, of.y)
    numbers = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    return make_pipeline(columns, model).fit(of.X, of.y)


def xrfm(of: Problem) -> Any:
    import torch
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from xrfm import xRFM

    torch.set_num_threads(1)
    numbers = make_column_selector(dtype_exclude="category")
    indicators = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    scaler = StandardScaler()
    if isinstance(of.X, pd.DataFrame):
        scaler = ColumnTransformer([("numbers", scaler, numbers)], remainder=indicators)
    scaler.fit(of.X)
    X = scaler.transform(of.X).astype(np.float32)
    classes, codes = (None, of.y.astype(np.float32)) if of.regression else np.unique(of.y, return_inverse=True)
    train = np.arange(len(X)) % 5 > 0
    model = xRFM(device=torch.device("cpu"), tuning_metric="mse" if of.regression else "brier")
    y = codes[:, None] if of.regression else codes
    model.fit(X[train], y[train], X[~train], y[~train])
    scaled = Standardized(model, scaler)
    return scaled if of.regression else Decoded(scaled, classes)


METHODS: dict[str, Callable[[Problem], Any]] = {
    "auto": similitude,
    "gaussian": isotropic,
    "catboost": catboost,
    "lightgbm": lightgbm,
    "hist": hist,
    "xgboost": xgboost,
    "forest": forest,
    "xrfm": xrfm,
}
OURS = ("auto", "gaussian")
DEFAULT = ",".join(name for name in METHODS if name != "xrfm")


def measured(name: str, of: Problem) -> dict[str, float]:
    """Return the error, the log loss of classes, and the time to fit."""
    if name not in OURS:
        of = of._replace(X=encoded(of.X, of.X), new=encoded(of.new, of.X))
    start = time.process_time()
    model = METHODS[name](of)
    seconds = time.process_time() - start
    new = of.new
    if name == "catboost" and isinstance(new, pd.DataFrame):
        texts = [column for column in new if new[column].dtype == "category"]
        new = new.assign(**{column: new[column].astype(object).fillna("missing") for column in texts})
    predicted = np.ravel(model.predict(new))
    if of.regression:
        error = float(np.sqrt(np.mean((predicted - of.truth) ** 2)) / of.truth.std())
        return {"error": error, "seconds": seconds}
    classes = {label: i for i, label in enumerate(model.classes_)}
    known = np.array([label in classes for label in of.truth])
    chances = np.clip(model.predict_proba(new)[known], 1e-6, 1)
    chances /= chances.sum(axis=1, keepdims=True)
    right = chances[np.arange(len(chances)), [classes[label] for label in of.truth[known]]]
    wrong = float(np.mean(predicted.astype(str) != of.truth))
    return {"error": wrong, "log loss": float(-np.log(right).mean()), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default=",".join(FILES))
    parser.add_argument("--methods", default=DEFAULT)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    threadpool_limits(1)
    use_engine(LocalEngine(threads=1))
    stored = given.results is not None and given.results.exists()
    found = [json.loads(line) for line in given.results.read_text().splitlines()] if stored else []
    for name in given.sets.split(","):
        for seed in range(given.splits):
            mine = [one for one in found if (one["set"], one["seed"], one["rows"]) == (name, seed, given.rows)]
            known = {one["method"] for one in mine}
            methods = [method for method in given.methods.split(",") if method not in known]
            of = problem(given.folder, name, given.rows, seed) if methods else None
            for method in methods:
                row = {"set": name, "seed": seed, "rows": given.rows, "n": len(of.y), "method": method}
                found.append(row | {"regression": of.regression} | measured(method, of))
                print(json.dumps(found[-1]), flush=True)
                if given.results is not None:
                    with given.results.open("a") as file:
                        file.write(json.dumps(found[-1]) + "\n")
    table = pd.DataFrame(found)
    summarize(table[(table["rows"] == given.rows) & table["method"].isin(given.methods.split(","))])


def summarize(found: pd.DataFrame) -> None:
    """Print means over splits, and ratios to CatBoost."""
    for regression, part in found.groupby("regression"):
        print("\n" + ("regression: RMSE / sd" if regression else "classification: error"))
        table = part.pivot_table(index="set", columns="method", values="error")
        print(table.round(4).to_string())
        if "catboost" in table:
            ratios = table.div(table["catboost"], axis=0)
            means = np.exp(np.log(ratios.clip(lower=1e-9)).mean())
            print(
                "ratio to CatBoost, geometric mean",
                means.round(3).to_dict(),
                "median",
                ratios.median().round(3).to_dict(),
            )
        print("mean rank", table.rank(axis=1).mean().round(2).to_dict())
        if {"auto", "gaussian"} <= set(table):
            print("auto / gaussian, worst set", round(float((table["auto"] / table["gaussian"]).max()), 3))
        if not regression:
            print("mean accuracy", (1 - table.mean()).round(4).to_dict())
            losses = part.pivot_table(index="set", columns="method", values="log loss")
            print("log loss\n" + losses.round(4).to_string() + f"\nmean {losses.mean().round(4).to_dict()}")
        print("seconds\n" + part.pivot_table(index="set", columns="method", values="seconds").round(2).to_string())


if __name__ == "__main__":
    main()
