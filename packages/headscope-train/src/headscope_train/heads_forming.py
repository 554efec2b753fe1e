"""Heads forming while a model is trained: the score of the best head for each relation at every checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.attention.head_id import head_label
from headscope.present.figures.style import INK, LINE, SOFT, figure_of, house_style, label, new_figure, role_color
from headscope.statistics.inference.significance import SIGNIFICANT

COLUMNS = 4
_NAMES = {"previous": "to the previous token", "next": "to the next token"}


@dataclass(frozen=True)
class Course:
    """One number at every checkpoint.

    Attributes:
        title: title of its panel.
        color: color of its line.
        points: `step value ci_low ci_high head sure`, in the order of steps; `head` is empty for a number that is not
            of a head, `sure` is True if the value is significantly above the rule.
        rule: the value without learning, a fraction, or NaN.
        rule_name: name of the rule.
    """

    title: str
    color: str
    points: pd.DataFrame
    rule: float = float("nan")
    rule_name: str = ""


def relation_courses(best: Mapping[int, pd.DataFrame], *, relations: Sequence[str] | None = None) -> list[Course]:
    """Follow each relation's best head through the checkpoints, selected again at each of them.

    Args:
        best: step -> `tables/syntax_best.parquet` of that checkpoint; held-out rows are used, or if there are none,
            those selected on the same data.
        relations: relations in order; all by default.

    Returns:
        A course for each relation; the rule is its best fixed offset, and a point is sure if q < 0.05.
    """
    parts = []
    for step, table in sorted(best.items()):
        trained = table[table["model"] == "trained"]
        held_out = trained[trained["selection"] == "held-out"]
        parts.append((trained if held_out.empty else held_out).assign(step=step))
    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["relation"])
    names = list(dict.fromkeys(rows["relation"].astype(str)))
    courses = []
    for name in relations if relations is not None else names:
        of_relation = rows[rows["relation"] == name]
        if of_relation.empty:
            continue
        offset = float(of_relation["baseline_accuracy"].iloc[-1])
        above = of_relation["margin"] > 0
        points = pd.DataFrame(
            {
                "step": of_relation["step"],
                "value": of_relation["accuracy"],
                "ci_low": of_relation["ci_low"],
                "ci_high": of_relation["ci_high"],
                "head": _heads(of_relation),
                "sure": above & (of_relation["q_value"] < SIGNIFICANT),
            }
        )
        number = int(of_relation["baseline_offset"].iloc[-1])
        courses.append(
            Course(label(name, 24), role_color("syntax"), points, offset, f"offset {number:+d}".replace("-", "−"))
        )
    return courses


def behavior_courses(
    stats: Mapping[int, pd.DataFrame], *, statistics: Sequence[str] = ("previous", "next")
) -> list[Course]:
    """Follow the head with the highest mean weight for each statistic, selected again at each checkpoint.

    Args:
        stats: step -> `tables/stats.parquet` of that checkpoint.
        statistics: names of statistics that are shares of attention.

    Returns:
        A course for each statistic; the rule is the value under uniform attention, and a point is sure if its interval
        lies above.
    """
    courses = []
    for statistic in statistics:
        records = []
        for step, table in sorted(stats.items()):
            heads = table[(table["statistic"] == statistic) & table["head"].notna() & table["value"].notna()]
            if not heads.empty:
                highest = int(heads["value"].to_numpy(float).argmax())
                records.append({"step": step, **heads.iloc[highest].to_dict()})
        if not records:
            continue
        rows = pd.DataFrame(records)
        points = pd.DataFrame(
            {
                **{name: rows[name] for name in ("step", "value", "ci_low", "ci_high")},
                "head": _heads(rows),
                "sure": rows["ci_low"] > rows["uniform"],
            }
        )
        title = _NAMES.get(statistic, statistic)
        courses.append(Course(title, role_color(statistic), points, float(rows["uniform"].iloc[-1]), "uniform"))
    return courses


def accuracy_course(log: pd.DataFrame) -> Course:
    """Follow the share of held-out masked tokens that are predicted correctly, from `training.parquet`."""
    rows = log[(log["split"] == "held-out") & (log["measure"] == "accuracy")].sort_values("step")
    points = rows[["step", "value", "ci_low", "ci_high"]].assign(head="", sure=True)
    return Course("masked words filled in", INK, points)


@house_style()
def heads_forming(courses: Sequence[Course]) -> Figure:
    """Draw a panel for each course, four in a row: its value in percent against the training step.

    Bands are 95% intervals; the dashed line is the rule; points are filled if the value is significantly above it, and
    the last one is labeled with its head.

    Args:
        courses: courses from `relation_courses`, `behavior_courses` and `accuracy_course`.

    Raises:
        ValueError: `courses` is empty.
    """
    if not courses:
        raise ValueError("Expected at least one course of a number through training, got none; score checkpoints.")
    columns = min(COLUMNS, len(courses))
    lines = -(-len(courses) // columns)
    figure = new_figure(2.6 * columns, 2.0 * lines + 0.3)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=True).ravel()
    for ax in grid[len(courses) :]:
        ax.set_axis_off()
    last = max(int(course.points["step"].max()) for course in courses)
    for index, (course, ax) in enumerate(zip(courses, grid)):
        course_panel(course, last=last, ax=ax)
        # With shared axes only the last line has tick labels; a panel without one below it shows its own.
        ax.tick_params(labelbottom=index + columns >= len(courses))
    figure.supxlabel("training step", fontsize=9, color=SOFT)
    return figure


@house_style()
def course_panel(course: Course, *, last: int | None = None, ax: Axes | None = None) -> Figure:
    """Draw one course.

    Args:
        course: the course to draw.
        last: the step at which the axis ends; the course's last by default.
        ax: axes to draw on; created if None.
    """
    if ax is None:
        ax = new_figure(2.9, 2.2).subplots()
    points = course.points.sort_values("step")
    x, y = points["step"].to_numpy(float), points["value"].to_numpy(float)
    low, high = points["ci_low"].to_numpy(float), points["ci_high"].to_numpy(float)
    if np.isfinite(course.rule):
        ax.axhline(course.rule, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        _name_rule(ax, course, last=float(y[-1]))
    if np.isfinite(low).any():
        ax.fill_between(x, low, high, color=course.color, alpha=0.22, linewidth=0, gid="interval")
    ax.plot(x, y, color=course.color, linewidth=1.5, zorder=3, gid="value")
    sure = points["sure"].to_numpy(bool)
    for which, face, name in ((sure, course.color, "sure"), (~sure, "white", "unsure")):
        if which.any():  # a line without points would take up space at the figure's corner
            ax.plot(
                x[which], y[which], linestyle="", marker="o", markersize=4, zorder=4, clip_on=False,
                markerfacecolor=face, markeredgecolor=course.color, gid=name,
            )  # fmt: skip
    if head := str(points["head"].iloc[-1]):
        ax.annotate(
            head, (x[-1], y[-1]), xytext=(0, 6), textcoords="offset points", ha="right", va="bottom",
            fontsize=8, color=INK,
        )  # fmt: skip
    ax.set_title(course.title, fontsize=10)
    end = float(x[-1] if last is None else last)
    ax.set_xlim(-0.02 * max(end, 1.0), 1.02 * max(end, 1.0))
    ax.set_xticks([0, end / 2, end], ["0", f"{end / 2:,.6g}", f"{end:,.6g}"])
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.5, 1], ["0", "50", "100%"])
    ax.grid(axis="y", color=LINE)
    ax.spines["left"].set_visible(False)
    ax.tick_params(labelsize=8)
    return figure_of(ax)


def _name_rule(ax: Axes, course: Course, *, last: float) -> None:
    """Label the dashed line away from the curve: on the left if the curve ends near the line, else on the right."""
    near = abs(last - course.rule) < 0.15
    above = near or course.rule < 0.12  # below it is the axis
    ax.annotate(
        course.rule_name, (0 if near else 1, course.rule), xycoords=("axes fraction", "data"),
        xytext=(0, 2 if above else -2), textcoords="offset points", ha="left" if near else "right",
        va="bottom" if above else "top", fontsize=8, color=SOFT,
    )  # fmt: skip


def _heads(rows: pd.DataFrame) -> list[str]:
    """Return each row's head, `4-2`, with its kind if there are several."""
    several = rows["kind"].nunique() > 1
    return [
        f"{kind} {head_label(int(layer), int(head))}" if several else head_label(int(layer), int(head))
        for kind, layer, head in zip(rows["kind"], rows["layer"], rows["head"])
    ]
