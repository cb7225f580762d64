"""Tables of random values for foreign charts, and what is true of each chart: a name and its value for each mark."""

from dataclasses import dataclass, field

from numpy.random import Generator

GOODS = [
    "Apples",
    "Bread",
    "Coffee",
    "Dates",
    "Flour",
    "Grapes",
    "Honey",
    "Juice",
    "Lemons",
    "Milk",
    "Olives",
    "Pears",
    "Rice",
    "Salt",
]
CITIES = ["Berlin", "Cairo", "Delhi", "Lima", "Oslo", "Paris", "Quito", "Rome", "Seoul", "Tokyo", "Vienna", "Zagreb"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
LONG = ("Public transport", "Private cars", "Bicycles", "Motorcycles", "Freight trains", "Walking")
GROUPS = ["Men", "Women", "Online", "Store", "Plan", "Actual", "Urban", "Rural", "Import", "Export"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """Values by series and category, or points by series; the only series of a chart is called ""."""

    kind: str
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    points: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Series over categories, ``rows[series][category]``."""

    categories: list[str]
    series: list[str]
    rows: list[list[float]]

    def truth(self, kind: str) -> Truth:
        names = self.series if len(self.series) > 1 else [""]
        pairs = zip(names, self.rows, strict=True)
        return Truth(kind=kind, values={name: dict(zip(self.categories, row, strict=True)) for name, row in pairs})

    @property
    def long(self) -> list[dict[str, object]]:
        """A record for each value, as grammars of graphics take them."""
        return [
            {"category": category, "series": name, "value": value}
            for name, row in zip(self.series, self.rows, strict=True)
            for category, value in zip(self.categories, row, strict=True)
        ]


def table(
    rng: Generator, names: list[str] | tuple[str, ...], count: int, series: int, low: float, high: float
) -> Table:
    """Random values between two bounds, in three digits; months and years keep their order, other names are drawn."""
    in_order = names is MONTHS or names[0].isdigit()
    categories = list(names[:count]) if in_order else [names[int(i)] for i in rng.permutation(len(names))[:count]]
    chosen = [GROUPS[int(i)] for i in rng.permutation(len(GROUPS))[:series]]
    rows = [[float(f"{value:.3g}") for value in rng.uniform(low, high, count)] for _ in chosen]
    return Table(categories, chosen, rows)


def years(first: int, count: int) -> list[str]:
    """Names of years."""
    return [str(first + i) for i in range(count)]


def cloud(rng: Generator, names: list[str], count: int, width: float, height: float) -> Truth:
    """Points that do not overlap."""
    taken: list[tuple[float, float]] = []
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for name in names:
        while len(points[name]) < count:
            x, y = float(rng.uniform(0.08, 1)), float(rng.uniform(0.08, 1))
            if all(abs(x - a) > 0.045 or abs(y - b) > 0.06 for a, b in taken):
                taken.append((x, y))
                points[name].append((float(f"{x * width:.4g}"), float(f"{y * height:.4g}")))
    return Truth(kind="scatter", points=points)


def shares(data: Table) -> Table:
    """The only row of a table in percent of its total."""
    total = sum(data.rows[0])
    return Table(data.categories, data.series, [[100 * value / total for value in data.rows[0]]])
