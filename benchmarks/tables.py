"""Tables as text that reads well in a terminal and renders as reStructuredText."""

import csv


def simple_table(header, rows):
    """A reStructuredText simple table."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    rule = "  ".join("=" * width for width in widths)

    def line(row):
        # An empty first cell would continue the row above.
        row = [row[0] or "\\", *row[1:]]
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()

    return "\n".join([rule, line(cells[0]), rule, *map(line, cells[1:]), rule])


def write_csv(path, records, *, decimals=None):
    """A list of dictionaries; floats keep six digits, and of these at most `decimals` decimals."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for record in records:
            writer.writerow(_short(record.get(column, ""), decimals) for column in columns)


def _short(value, decimals):
    if not isinstance(value, float):
        return value
    # Adding 0.0 turns a rounded -0.0 into 0.
    return f"{value if decimals is None else round(value, decimals) + 0.0:.6g}"
