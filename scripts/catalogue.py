#!/usr/bin/env python3
"""Update the numbers of crates/provider/src/catalogue/models.json from a public price list.

    scripts/catalogue.py PRICES [--date YYYY-MM-DD] [--check]

PRICES is `model_prices_and_context_window_backup.json` of LiteLLM (MIT license), or a wheel of
its Python package `litellm`, which contains that file. Only numbers and yes-or-no facts are
read from it, for the rows that models.json has: limits, prices, images, PDF, tools. Everything
else in a row is written by hand and stays: how a model thinks, when it ends, notes. A row that
the list lacks, and a row with `"manual": true`, keeps its numbers. A person reviews the diff.

Prints what changed, which rows the list lacks, and which end dates differ. With --check nothing
is written, and the exit code is 1 if the file would change.
"""

import argparse
import datetime
import json
import pathlib
import re
import sys
import zipfile

FILE = pathlib.Path(__file__).parent.parent / "crates/provider/src/catalogue/models.json"
LIST = "model_prices_and_context_window_backup.json"

# What the list puts before the names of a provider's models; the first match counts.
PREFIXES = {
    "gemini": ["gemini/"],
    "deepseek": ["deepseek/"],
    "moonshot": ["moonshot/"],
    "xai": ["xai/"],
}

# The list has the longest input of these models of OpenAI; Flemma counts input and output
# together, as OpenAI's pages about the models do.
OPENAI_CONTEXTS = {272_000: 400_000, 922_000: 1_050_000}

# A number outside of these is an error in the list.
LONGEST = 100_000_000
DEAREST = 1_000_000


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("prices", type=pathlib.Path, help=f"{LIST}, or a wheel with it")
    arguments.add_argument("--date", default=datetime.date.today().isoformat())
    arguments.add_argument("--check", action="store_true", help="write nothing")
    given = arguments.parse_args()
    datetime.date.fromisoformat(given.date)

    prices = read(given.prices)
    text = FILE.read_text()
    catalogue = json.loads(text)
    for group in catalogue["groups"]:
        for name, row in group["models"].items():
            update(group["providers"][0], name, row, prices)
    if written(catalogue) != text:
        catalogue["date"] = given.date
    changed = written(catalogue) != text
    if changed and not given.check:
        FILE.write_text(written(catalogue))
    print(f"{FILE.name}: {'changed' if changed else 'as the list'}")
    return 1 if changed and given.check else 0


def read(path):
    """Returns the price list in a JSON file or a wheel."""
    if path.suffix != ".whl":
        return json.loads(path.read_text())
    with zipfile.ZipFile(path) as wheel:
        name = next(it for it in wheel.namelist() if it.endswith(LIST))
        return json.loads(wheel.read(name))


def update(provider, name, row, prices):
    """Replaces the numbers of one row by those of the list, and prints what changed."""
    entry = next(
        (prices[it + name] for it in PREFIXES.get(provider, [""]) if it + name in prices), None
    )
    if entry is None:
        print(f"{provider} {name}: not in the list")
        return
    if entry.get("deprecation_date", row.get("retires_at")) != row.get("retires_at"):
        print(f"{provider} {name}: ends {entry['deprecation_date']} according to the list")
    facts = numbers(provider, entry)
    differences = [
        f"{field} {row.get(field)} -> {value}"
        for field, value in facts.items()
        if row.get(field) != value
    ]
    if row.get("manual"):
        if differences:
            print(f"{provider} {name}: by hand, but in the list: {', '.join(differences)}")
        return
    if differences:
        print(f"{provider} {name}: {', '.join(differences)}")
    row.update(facts)
    # The order in which rows are written: numbers first.
    ordered = {it: row.pop(it) for it in ["context", "output", "price"] if it in row}
    rest = dict(row)
    row.clear()
    row.update(ordered | rest)


def numbers(provider, entry):
    """Returns the fields of a row that the list has, without those that make no sense."""
    facts = {}
    context = tokens(entry.get("max_input_tokens"))
    if context is not None:
        facts["context"] = OPENAI_CONTEXTS.get(context, context) if provider == "openai" else context
    output = tokens(entry.get("max_output_tokens"))
    if output is not None:
        facts["output"] = output
    price = price_of(entry)
    if price is not None:
        facts["price"] = price
    abilities = {"images": "vision", "pdf": "pdf_input", "tools": "function_calling"}
    for field, ability in abilities.items():
        # A missing fact says nothing, and yes is the default.
        if entry.get(f"supports_{ability}") is False:
            facts[field] = False
    return facts


def price_of(entry):
    """Returns the prices in dollars per million tokens, or None without valid ones."""

    def find(*names):
        found = (dollars(entry.get(it)) for it in names)
        return next((it for it in found if it is not None), None)

    price = {
        "input": find("input_cost_per_token"),
        "output": find("output_cost_per_token"),
        "cache_read": find("cache_read_input_token_cost"),
        "cache_write": find("cache_creation_input_token_cost"),
        "cache_write_long": find(
            "cache_creation_input_token_cost_above_1hr",
            "cache_creation_input_token_cost_above_12hr",
        ),
    }
    if price["input"] is None or price["output"] is None:
        return None
    for name in entry:
        if tier := re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", name):
            end = f"_above_{tier[1]}k_tokens"
            price["above"] = present(
                {
                    "tokens": int(tier[1]) * 1000,
                    "input": find("input_cost_per_token" + end),
                    "output": find("output_cost_per_token" + end, "output_cost_per_token"),
                    "cache_read": find("cache_read_input_token_cost" + end),
                }
            )
    return present(price)


def present(fields):
    return {name: value for name, value in fields.items() if value is not None}


def tokens(value):
    """Returns a limit in tokens if it is one."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value <= LONGEST else None


def dollars(value):
    """Returns dollars per million tokens, from dollars per token, if it is a price."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # The list has 0 where a price is not known or not charged apart.
    if not is_number or not 0 < value * 1e6 <= DEAREST:
        return None
    # 12 significant digits remove the errors of binary fractions.
    price = float(f"{value * 1e6:.12g}")
    return int(price) if price.is_integer() else price


def written(catalogue):
    """Returns the file's text, with one model a line."""

    def rows(models):
        lines = (f"        {json.dumps(name)}: {json.dumps(row)}" for name, row in models.items())
        return "{\n" + ",\n".join(lines) + "\n      }" if models else "{}"

    groups = ",\n".join(
        "    {\n"
        f'      "providers": {json.dumps(group["providers"])},\n'
        f'      "families": {rows(group["families"])},\n'
        f'      "models": {rows(group["models"])}\n'
        "    }"
        for group in catalogue["groups"]
    )
    return (
        "{\n"
        f'  "date": {json.dumps(catalogue["date"])},\n'
        f'  "source": {json.dumps(catalogue["source"])},\n'
        f'  "groups": [\n{groups}\n  ]\n'
        "}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
