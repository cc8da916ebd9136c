"""Small faults that are put into source text, one at a time, to see whether a test notices.

Comparisons, arithmetic, numbers, truth values, conditions, `and` and `or`, returned values, removed statements, and the
order of the first two arguments are changed. Left out is what no behaviour depends on: annotations, decorators, text of
errors, formatted text, `__repr__` and `__str__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMMUTATIVE = ("max", "min", "maximum", "minimum", "fmax", "fmin", "isclose", "clip", "zip")


class Mutant(NamedTuple):
    """One fault in one file.

    Args:
        line: of the file, counted from 1.
        last_line: of what is changed; the first one of an `if`.
        function: qualified name of the outermost function or method that contains it; empty: none does.
        change: the text before and after.
        text: the stripped line.
        tree: the syntax tree with the fault.
    """

    line: int
    last_line: int
    function: str
    change: str
    text: str
    tree: ast.Module


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a source text, in the order of the syntax tree."""
    lines, tree = source.splitlines(), ast.parse(source)
    left_out, functions = _left_out(tree), _functions(tree)
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in left_out:
            continue
        for number, new in enumerate(_replacements(node)):
            copy = ast.parse(source)
            target = list(ast.walk(copy))[index]
            replacement = list(_replacements(target))[number]
            mutated = _Replace(target, replacement).visit(copy)
            change = f"{_text(node)} -> {_text(new)}"
            line = getattr(node, "lineno", 0)
            last = line if isinstance(node, ast.If) else getattr(node, "end_lineno", line)
            yield Mutant(line, last, functions.get(id(node), ""), change, lines[line - 1].strip(), mutated)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split()) if not isinstance(node, ast.If) else f"if {ast.unparse(node.test)}"


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, new: ast.AST) -> None:
        self.target, self.new = target, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.target:
            return ast.fix_missing_locations(ast.copy_location(self.new, node))
        return self.generic_visit(node)


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that take the place of `node`, each in one mutant; they share its children."""
    match node:
        case ast.Compare(left, ops, comparators):
            for i, op in enumerate(ops):
                yield ast.Compare(left, [*ops[:i], COMPARISONS[type(op)](), *ops[i + 1 :]], comparators)
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not _is_text(left):
            yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.Invert() | ast.USub(), operand):
            yield operand
        case ast.If(test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Return(value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign() | ast.Raise():
            yield ast.Pass()
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name in COMMUTATIVE:
            return
        case ast.Call(func, [ast.expr() as first, ast.expr() as second, *rest], keywords) if not (
            isinstance(first, ast.Starred) or isinstance(second, ast.Starred) or ast.dump(first) == ast.dump(second)
        ):
            yield ast.Call(func, [second, first, *rest], keywords)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _left_out(tree: ast.Module) -> set[int]:
    """Identities of the nodes that are not changed."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, decorator_list=decorators, returns=returns):
                roots += [*decorators, returns, *([node] if name in ("__repr__", "__str__") else [])]
            case ast.ClassDef(decorator_list=decorators, bases=bases, keywords=keywords):
                roots += [*decorators, *bases, *keywords]
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                roots.append(annotation)
            case ast.Raise(exc=exc, cause=cause):
                roots += [exc, cause]
            case ast.JoinedStr():
                roots.append(node)
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                roots.append(node)
            case ast.Call(func=ast.Name("zip"), keywords=keywords):
                roots += keywords
            case ast.Call(func=ast.Name("cast" | "TypeVar" | "isinstance")):
                roots.append(node)
    roots += [s.value for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.value, ast.BinOp | ast.Subscript)
              and isinstance(getattr(s.value, "op", ast.BitOr()), ast.BitOr)]  # fmt: skip
    return {id(node) for root in roots if root is not None for node in ast.walk(root)}


def _functions(tree: ast.Module) -> dict[int, str]:
    """The qualified name of the outermost function by identity of what is in its body (not of defaults)."""
    names: dict[int, str] = {}

    def note(body: list[ast.stmt], prefix: str) -> None:
        for statement in body:
            if isinstance(statement, ast.FunctionDef):
                inside = (node for each in statement.body for node in ast.walk(each))
                names.update(dict.fromkeys(map(id, inside), prefix + statement.name))
            elif isinstance(statement, ast.ClassDef):
                note(statement.body, f"{prefix}{statement.name}.")

    note(tree.body, "")
    return names
