"""A Dask cluster that the engine starts itself: in a module of its own, where no other test holds a client."""

import numpy as np
import pytest

from similitude import SimilarityRegressor

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


def test_a_cluster_is_started_where_there_is_none(monkeypatch):
    monkeypatch.setattr("similitude.compute.engines.dask.engine.available_cores", lambda: 1)
    started = []
    monkeypatch.setattr(distributed, "LocalCluster", noted(distributed.LocalCluster, started))
    X = da.from_array(np.random.default_rng(0).normal(size=(400, 2)), chunks=(100, 2))
    model = SimilarityRegressor("gaussian", n_landmarks=10, random_state=0).fit(X, X[:, 0])
    assert model.predict(X).shape == (400,)
    assert [len(cluster.workers) for cluster in started] == [0] and started[0].status == distributed.core.Status.closed
    with pytest.raises(ValueError, match="No global client found"):
        distributed.get_client()


def noted(make, made):
    """Return the function, which notes what it returned."""

    def noting(*args, **settings):
        made.append(make(*args, **settings))
        return made[-1]

    return noting
