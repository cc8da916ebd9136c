"""Each cell of a table states the heading of its column, and keeps its role in any layout."""

from __future__ import annotations

from judge.view.jinja import environment

TABLE = """{% filter stacked %}<table class="plain">
<thead><tr><th scope="col">Model</th><th scope="col">{{ name }}&nbsp;↓<span class="unseen">, lower</span></th>
<th></th></tr></thead>
<tbody><tr><th scope="row">a</th><td class="num">1</td><td>2</td></tr>
<tr><td colspan="2">both</td><td role="gridcell">3</td></tr></tbody></table>{% endfilter %}"""


def test_cells_have_the_headings_of_their_columns() -> None:
    drawn = environment().from_string(TABLE).render(name='"><b>&')
    assert '<td role="cell" data-label="&#34;&gt;&lt;b&gt;&amp;\u00a0↓" class="num">1</td>' in drawn
    assert "<b>" not in drawn
    assert '<td role="cell">2</td>' in drawn  # its column has no heading
    assert '<td role="cell" colspan="2">both</td><td role="gridcell">3</td>' in drawn


def test_rows_and_headings_keep_their_roles() -> None:
    drawn = environment().from_string(TABLE).render(name="")
    assert drawn.startswith('<table role="table" class="plain">')
    assert '<th role="columnheader" scope="col">Model' in drawn
    assert '<th role="rowheader" scope="row">a' in drawn
    assert drawn.count('role="row"') == 3
    assert drawn.count('role="rowgroup"') == 2
