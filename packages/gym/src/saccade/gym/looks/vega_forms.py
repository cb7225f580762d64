"""The kinds of charts in Vega-Lite's grammar: marks and encodings of each."""

import math
from collections.abc import Callable

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.types import Json

Spec = dict[str, Json]


def rows(state: QuantityState) -> list[Json]:
    """A row for each value, with the sums below it for stacks."""
    rows: list[Json] = []
    for entry, name in enumerate(state.entries):
        below = 0.0
        for which, measure in enumerate(state.measures):
            value = measure.values[entry]
            rows.append(
                {
                    "entry": name,
                    "measure": measure.name,
                    "value": value,
                    "text": measure.text(entry),
                    "middle": below + value / 2,
                    "id": f"value:{entry}:{which}",
                }
            )
            below += value
    return rows


def _entry_axis(state: QuantityState, *, is_upright: bool = True) -> Spec:
    long = sum(len(name) for name in state.entries) >= 0.09 * state.width
    axis: Spec = {"labelAngle": -35 if long and is_upright else 0, "title": None}
    return {"field": "entry", "type": "nominal", "sort": list(state.entries), "axis": axis}


def _value_axis(state: QuantityState, top: float, title: str | None = None) -> Spec:
    every = 10 if top <= 110 else 20 if top <= 220 else 50
    last = every * math.ceil((top + 1) / every)
    ticks: list[Json] = list(range(0, last + 1, every))
    name = title or (state.measures[0].name if len(state.measures) == 1 else None)
    return {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, last], "nice": False},
        "axis": {"values": ticks, "title": name},
    }


def _colour(state: QuantityState) -> Spec:
    return {
        "field": "measure",
        "type": "nominal",
        "sort": None,
        "scale": {
            "domain": [measure.name for measure in state.measures],
            "range": [hex_of(PALETTE[measure.colour]) for measure in state.measures],
        },
    }


def _top(state: QuantityState) -> float:
    return max(max(measure.values) for measure in state.measures)


def _plain(state: QuantityState) -> Spec:
    return {"value": hex_of(PALETTE[state.measures[0].colour])}


_IDENTITY: Spec = {"field": "id"}


def _bar(state: QuantityState) -> Spec:
    encoding: Spec = {
        "x": _entry_axis(state),
        "y": _value_axis(state, _top(state)),
        "color": _plain(state),
        "description": _IDENTITY,
    }
    return {"mark": "bar", "encoding": encoding}


def _lying(state: QuantityState) -> Spec:
    x, y = _value_axis(state, _top(state)), _entry_axis(state, is_upright=False)
    return {"mark": "bar", "encoding": {"x": x, "y": y, "color": _plain(state), "description": _IDENTITY}}


def _grouped(state: QuantityState) -> Spec:
    encoding: Spec = {
        "x": _entry_axis(state),
        "xOffset": {"field": "measure", "sort": None},
        "y": _value_axis(state, _top(state)),
        "color": _colour(state),
        "description": _IDENTITY,
    }
    return {"mark": "bar", "encoding": encoding}


def _stacked(state: QuantityState) -> Spec:
    top = max(sum(measure.values[entry] for measure in state.measures) for entry in range(len(state.entries)))
    x, y = _entry_axis(state), _value_axis(state, top)
    bars: Spec = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": x,
            "y": {**y, "stack": "zero"},
            "color": _colour(state),
            "order": {"field": "middle"},
            "description": _IDENTITY,
        },
    }
    texts: Spec = {
        "mark": {"type": "text", "color": "white"},
        "encoding": {"x": x, "y": {**y, "field": "middle"}, "text": {"field": "text"}},
    }
    return {"layer": [bars, texts]}


def _lines(state: QuantityState) -> Spec:
    x, y = _entry_axis(state), _value_axis(state, _top(state))
    colour = _colour(state) if len(state.measures) > 1 else _plain(state)
    kind: Spec = {"type": "area", "opacity": 0.4, "line": True} if state.form == "area" else {"type": "line"}
    run: Spec = {"mark": kind, "encoding": {"x": x, "y": y, "color": colour}}
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        "encoding": {"x": x, "y": y, "color": colour, "description": _IDENTITY},
    }
    return {"layer": [run, points]}


def _dual(state: QuantityState) -> Spec:
    layers: list[Json] = []
    kinds: tuple[Spec, Spec] = ({"type": "bar"}, {"type": "line", "point": {"size": 60}})
    for which, mark in enumerate(kinds):
        measure = state.measures[which]
        every = measure.step * 2
        last = every * math.ceil((max(measure.values) + 0.1) / every)
        ticks: list[Json] = [round(every * tick, 4) for tick in range(round(last / every) + 1)]
        y: Spec = {
            "field": "value",
            "type": "quantitative",
            "scale": {"domain": [0, last], "nice": False},
            "axis": {
                "values": ticks,
                "title": measure.name,
                "orient": ("left", "right")[which],
                "grid": which == 0,
                "titleColor": hex_of(PALETTE[measure.colour]),
            },
        }
        only: Spec = {"filter": f"datum.measure == '{measure.name}'"}
        encoding: Spec = {
            "x": _entry_axis(state),
            "y": y,
            "color": {**_colour(state), "legend": None},
            "description": _IDENTITY,
        }
        layers.append({"transform": [only], "mark": mark, "encoding": encoding})
    return {"layer": layers, "resolve": {"scale": {"y": "independent"}}}


def _scatter(state: QuantityState) -> Spec:
    values: list[Json] = []
    for entry, name in enumerate(state.entries):
        row: Spec = {f"m{which}": measure.values[entry] for which, measure in enumerate(state.measures)}
        ids: Spec = {"entry": name, "id": f"value:{entry}:0", "label": f"entry:{entry}"}
        values.append({**row, **ids})
    ticks: list[Json] = list(range(0, 111, 10))

    def scale(which: int) -> Spec:
        axis: Spec = {"values": ticks, "title": state.measures[which].name}
        return {
            "field": f"m{which}",
            "type": "quantitative",
            "scale": {"domain": [0, 110], "nice": False},
            "axis": axis,
        }

    marks: Spec = {"x": scale(0), "y": scale(1), "color": _plain(state), "description": _IDENTITY}
    lift = -9
    if state.form == "bubble":
        marks["size"] = {
            "field": "m2",
            "type": "quantitative",
            "scale": {"range": [0, 1500], "domain": [0, 100]},
            "legend": None,
        }
        lift = -20
    points: Spec = {"mark": {"type": "circle", "size": 60, "opacity": 0.75}, "encoding": marks}
    texts: Spec = {
        "mark": {"type": "text", "dy": lift},
        "encoding": {"x": scale(0), "y": scale(1), "text": {"field": "entry"}, "description": {"field": "label"}},
    }
    return {"data": {"values": values}, "layer": [points, texts]}


def _pie(state: QuantityState) -> Spec:
    values: list[Json] = []
    colours = [hex_of(colour) for colour in PALETTE.values()]
    total, before = sum(state.measures[0].values), 0.0
    reach = min(state.width, state.height) / 2 - 80
    for entry, name in enumerate(state.entries):
        value = state.measures[0].values[entry]
        text = f"{name} {state.measures[0].text(entry)}" if state.measures[0].reading == "printed" else name
        middle = (before + value / 2) / total * 2 * math.pi
        at: Spec = {"x": math.sin(middle) * (reach + 38), "y": math.cos(middle) * (reach + 22)}
        ids: Spec = {"entry": name, "text": text, "value": value, "id": f"value:{entry}:0", "label": f"entry:{entry}"}
        values.append({**ids, **at, "from": before / total * 2 * math.pi, "to": (before + value) / total * 2 * math.pi})
        before += value
    inner = reach * 0.5 if state.form == "donut" else 0
    colour: Spec = {"field": "entry", "sort": None, "scale": {"range": colours}, "legend": None}
    turn: Spec = {"field": "from", "type": "quantitative", "scale": None}
    arcs: Spec = {
        "mark": {"type": "arc", "outerRadius": reach, "innerRadius": inner, "stroke": "white"},
        "encoding": {"theta": turn, "theta2": {"field": "to"}, "color": colour, "description": _IDENTITY},
    }
    half_x, half_y = (state.width - 110) / 2, (state.height - 110) / 2

    def place(field: str, half: float) -> Spec:
        return {"field": field, "type": "quantitative", "scale": {"domain": [-half, half], "nice": False}, "axis": None}

    texts: Spec = {
        "mark": "text",
        "encoding": {
            "x": place("x", half_x),
            "y": place("y", half_y),
            "text": {"field": "text"},
            "description": {"field": "label"},
        },
    }
    return {"data": {"values": values}, "layer": [arcs, texts], "view": {"stroke": None}}


def _boxes(state: QuantityState) -> Spec:
    values: list[Json] = []
    names = ("low", "lower", "middle", "upper", "high")
    for entry, name in enumerate(state.entries):
        row: Spec = {key: state.measures[which].values[entry] for which, key in enumerate(names)}
        values.append({**row, "entry": name, **{f"id{which}": f"value:{entry}:{which}" for which in range(5)}})
    x, scale = _entry_axis(state), _value_axis(state, _top(state), "value")

    def tick(which: int, size: float, thickness: float) -> Spec:
        mark: Spec = {"type": "tick", "size": size, "thickness": thickness, "color": "black"}
        return {
            "mark": mark,
            "encoding": {"x": x, "y": {**scale, "field": names[which]}, "description": {"field": f"id{which}"}},
        }

    rule: Spec = {"mark": "rule", "encoding": {"x": x, "y": {**scale, "field": "low"}, "y2": {"field": "high"}}}
    box: Spec = {
        "mark": {"type": "bar", "size": 30},
        "encoding": {"x": x, "y": {**scale, "field": "lower"}, "y2": {"field": "upper"}, "color": _plain(state)},
    }
    ends = [tick(1, 30, 1), tick(3, 30, 1), tick(2, 30, 3), tick(0, 16, 2), tick(4, 16, 2)]
    return {"data": {"values": values}, "layer": [rule, box, *ends]}


def _heat(state: QuantityState) -> Spec:
    columns: Spec = {
        "field": "measure",
        "type": "nominal",
        "sort": None,
        "axis": {"labelAngle": 0, "title": None, "orient": "top"},
    }
    shade: Spec = {
        "field": "value",
        "type": "quantitative",
        "scale": {"scheme": "oranges", "domain": [0, _top(state) * 1.4]},
        "legend": None,
    }
    y = _entry_axis(state, is_upright=False)
    cells: Spec = {"mark": "rect", "encoding": {"x": columns, "y": y, "color": shade, "description": _IDENTITY}}
    texts: Spec = {"mark": "text", "encoding": {"x": columns, "y": y, "text": {"field": "text"}}}
    return {"layer": [cells, texts]}


FORMS: dict[str, Callable[[QuantityState], Spec]] = {
    "bar": _bar,
    "lying": _lying,
    "grouped": _grouped,
    "stacked": _stacked,
    "line": _lines,
    "lines": _lines,
    "area": _lines,
    "dual": _dual,
    "scatter": _scatter,
    "bubble": _scatter,
    "pie": _pie,
    "donut": _pie,
    "histogram": _bar,
    "box": _boxes,
    "heat": _heat,
}
