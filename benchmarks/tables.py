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


def write_csv(path, records):
    """A list of dictionaries, floats shortened to six digits."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for record in records:
            writer.writerow(map(_short, (record.get(column, "") for column in columns)))


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else value
