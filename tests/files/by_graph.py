"""Tables, and what a graph says of them beside what the model says."""

import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from sklearn.pipeline import make_pipeline

from separatrix import (
    LogisticRegression,
)
from separatrix.files.graph import IR, Cells, Graph
from separatrix.files.onnx import to_onnx
from separatrix.files.onnx_inputs import onnx_inputs
from separatrix.files.onnx_tables import table, table_inputs

SECOND, DAY = 10**6, 86_400 * 10**6
YEAR_1, YEAR_9999 = (int(np.datetime64(day, "us").astype(np.int64)) for day in ("0001-01-01", "9999-12-31"))
CLOSE = 1e-6
READ = ["sky", "t1", "wet", "c0", "town", "zip", "legs"]  # the row's number and the planet are left out


def mixed(n=300, seed=0):
    """Numbers, words, booleans, codes; missing cells in t1, sky and legs; rare towns; names that graphs use too."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "sky": draw.choice(["sun", "rain", "snow"], n).astype(object),
            "t1": draw.normal(50.0, 9.0, n),
            "wet": draw.random(n) < 0.4,
            "planet": 3,
            "c0": draw.gamma(2.0, 1e4, n),
            "town": draw.choice(["Bonn", "Köln", "Ulm", "Zug", "Ems"], n, p=[0.5, 0.3, 0.19, 0.005, 0.005]),
            "zip": draw.choice([10115, 53111, 89073], n),
            "legs": draw.integers(0, 5, n).astype(float),
        }
    )
    score = (frame["t1"] - 50) / 9 + frame["wet"] - (frame["sky"] == "snow") + draw.normal(0, 0.7, n)
    y = np.array(["low", "mid", "high"])[np.digitize(score, [-0.5, 0.8])]
    frame.loc[::7, "t1"] = np.nan
    frame.loc[3::11, "sky"] = None
    frame.loc[5::13, "legs"] = np.nan
    return frame, y


def new_rows():
    """Levels that training never saw, and missing cells where it had none."""
    frame = mixed(60, seed=1)[0]
    frame["wet"] = frame["wet"].astype(object)
    frame["zip"] = frame["zip"].astype(float)
    frame.loc[:9, "sky"] = "hail"
    frame.loc[5:14, "town"] = "Rom"
    frame.loc[12:16, "town"] = None
    frame.loc[15:19, "wet"] = None
    frame.loc[18:24, "c0"] = np.nan
    frame.loc[20:24, "zip"] = 12345.0
    frame.loc[24:28, "zip"] = np.nan
    frame.loc[30:32, ["t1", "c0", "legs"]] = np.nan
    return frame


def spelled(value):
    if pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) else str(value)


def session(data):
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def answer(model, frame, **given):
    runs = session(to_onnx(model, **given))
    fed = onnx_inputs(model, frame, **given)
    assert list(fed) == [i.name for i in runs.get_inputs()]
    return list(fed), runs.run(None, fed)


def of_graph(pieces, inputs):
    """A session of graph pieces: name → tensor, after inputs: (name, type)."""
    g, pieces = pieces
    for name, tensor in pieces.items():
        g.nodes.append(onnx.helper.make_node("Identity", [tensor], [name]))
    made = onnx.helper.make_graph(
        g.nodes,
        "pieces",
        [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in inputs],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in pieces],
        g.constants,
    )
    model = onnx.helper.make_model(made, opset_imports=g.versions(), ir_version=IR)
    return session(model.SerializeToString())


def matrix_by_graph(encoder, frame):
    """What the piece of an encoder makes of a frame."""
    g, given = Graph(), table_inputs(encoder)
    g.reserve([i.name for i in given])
    made = table(g, encoder, Cells.given(g, given)).numbers()
    runs = of_graph((g, {"made": made}), [(i.name, i.type()) for i in given])
    model = make_pipeline(encoder, LogisticRegression())
    model.steps[-1][1].fit(np.eye(2), [0, 1])
    return runs.run(None, onnx_inputs(model, frame))[0]


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def same_matrix(encoder, *frames):
    for frame in frames:
        np.testing.assert_allclose(
            matrix_by_graph(encoder, frame), dense(encoder.transform(frame)), rtol=0, atol=1e-12
        )


def agrees(model, *frames):
    for frame in frames:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words on levels never seen
            wanted, labels = model.predict_proba(frame), model.predict(frame)
        names, (label, found) = answer(model, frame)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE)
        ordered = np.sort(wanted, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > CLOSE  # of classes equally probable it may name another
        assert clear.mean() > 0.5
        np.testing.assert_array_equal(label[clear], labels[clear])
        assert len(np.unique(found.round(6), axis=0)) > 3
    return names


def dated(n=240, seed=0):
    """Dates with hours, without, in a zone with summer time, far off, and one that never varies."""
    draw = np.random.default_rng(seed)
    stamp = pd.to_datetime("2023-03-20") + pd.to_timedelta(draw.integers(0, 10**7, n), unit="s")
    years = draw.integers(YEAR_1 // DAY, YEAR_9999 // DAY, n) * DAY
    frame = pd.DataFrame(
        {
            "day": pd.Series(stamp.normalize()),
            "stamp": pd.Series(stamp).where(draw.random(n) < 0.9),
            "zoned": pd.Series(stamp.tz_localize("UTC").tz_convert("Europe/Berlin")),
            "far": pd.Series(years.astype("datetime64[us]")),
            "once": pd.Series(pd.to_datetime(["1969-07-20"] * n)).where(draw.random(n) < 0.5),
            "x": draw.normal(size=n),
        }
    )
    y = np.where(frame["x"] + (stamp.day_of_week >= 5) + draw.normal(0, 0.5, n) > 0.3, "go", "stay")
    return frame, y


def letters(n=200, seed=0):
    """Short letters of two kinds, some missing."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, n)
    common = ["the", "a", "house", "Über", "alles", "ΛΟΓΟΣ", "okay", "Monday"]
    said = [["great", "sun", "FREE", "joy"], ["sorry", "rain", "late", "bill"]]
    texts = [
        " ".join([*draw.choice(common, 6), *draw.choice(said[k], 2)]) + draw.choice([".", "!", " …"])
        for k in np.where(draw.random(n) < 0.15, 1 - y, y)
    ]
    return [None if draw.random() < 0.05 else t for t in texts], y
