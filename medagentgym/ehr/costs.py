"""Made-up costs: neither MIMIC-III nor eICU holds prices, and EHRSQL's questions ask for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from statistics import NormalDist
from typing import Any

from medagentgym.ehr.cohort import uniform

_PRICE = NormalDist(mu=15.0, sigma=4.0)
_LEAST_PRICE = 0.5


def cost_rows(database: sqlite3.Connection, charged: Mapping[str, str], seed: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a table of costs: number, patient, visit, table, number of the event, time, price.

    `charged` is, for each table whose rows cost something, a query for event, patient, visit, time, and what the price depends on. A code, item or
    drug has one price, normal around a small mean, two decimals, that depends on the seed and on nothing else.
    """
    row_id = 0
    for table, query in charged.items():
        prices: dict[object, float] = {}
        for event_id, patient, visit, moment, key in database.execute(query):
            if key not in prices:
                prices[key] = price(seed, table, key)
            yield (row_id, patient, visit, table.lower(), event_id, moment, prices[key])
            row_id += 1


def price(seed: int, table: str, key: object) -> float:
    """The made-up price of a code, item or drug, in dollars."""
    share = uniform(seed, f"price of {table}", key)
    return max(_LEAST_PRICE, round(_PRICE.inv_cdf(min(max(share, 1e-9), 1 - 1e-9)), 2))
