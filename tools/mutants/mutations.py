"""What can be changed in a source: small slips that a test should notice.

Every change sets one field of one node of the syntax tree, so that it can be made, shown and taken back.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

_OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_TWINS = {"min": "max", "minimum": "maximum", "argmin": "argmax", "floor": "ceil", "any": "all"}
_NAMES = _TWINS | {b: a for a, b in _TWINS.items()}


class Mutant(NamedTuple):
    """One change to one file.

    Attributes
    ----------
    file : path, from the root of the repository.
    number : its place among all changes to the file.
    line, last : where it is: from one line to another.
    text : the source of the first.
    before, after : what is changed and what it becomes.
    rank : decides who is sampled; does not depend on what stands elsewhere in the file.
    """

    file: str
    number: int
    line: int
    last: int
    text: str
    before: str
    after: str
    rank: str

    @property
    def id(self) -> str:
        """A short name, stable while its line stays as it is."""
        return self.rank[:8]


class _Change(NamedTuple):
    owner: ast.AST
    field: str
    place: int | None  # in the field, where that is a list
    new: Any
    shown: ast.AST  # what is printed before and after

    def swap(self, value: Any) -> Any:
        """Put `value` in its place and return what stood there."""
        if self.place is None:
            old = getattr(self.owner, self.field)
            setattr(self.owner, self.field, value)
        else:
            row = getattr(self.owner, self.field)
            old, row[self.place] = row[self.place], value
        return old


def mutants(source: str, file: str, seed: int) -> list[Mutant]:
    """Return every change to a source, in the order of the syntax tree."""
    tree, lines = ast.parse(source), source.splitlines()
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for number, change in enumerate(_changes(tree)):
        shown: Any = change.shown
        line, last = shown.lineno, getattr(shown, "test", shown).end_lineno
        before = _first_line(shown)
        old = change.swap(change.new)
        after = "(nothing)" if isinstance(change.new, ast.Pass) else _first_line(shown)
        change.swap(old)
        text = lines[line - 1].strip()
        key = f"{seed} {file} {text} {before} {after}"
        seen[key] = seen.get(key, 0) + 1
        rank = hashlib.sha256(f"{key} {seen[key]}".encode()).hexdigest()
        found.append(Mutant(file, number, line, last, text, before, after, rank))
    return found


def mutated(source: str, number: int) -> ast.Module:
    """Return the syntax tree with one change made."""
    tree = ast.parse(source)
    change = list(_changes(tree))[number]
    change.swap(change.new)
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> list[_Change]:
    return list(_walk(tree, tree))


def _walk(node: ast.AST, shown: ast.AST) -> Iterator[_Change]:
    """Yield the changes inside a node; `shown` is the expression or statement around it."""
    if isinstance(node, ast.If) and _never_runs(node.test):
        return
    yield from _here(node)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "format_spec"):
            continue
        parts = value if isinstance(value, list) else [value]
        for place, part in enumerate(parts):
            if not isinstance(part, ast.AST) or _is_a_guard(part):
                continue
            where = place if isinstance(value, list) else None
            around = node if isinstance(node, (ast.expr, ast.stmt)) else shown
            yield from _replaced(node, field, where, part, around)
            yield from _walk(part, around)


def _here(node: ast.AST) -> Iterator[_Change]:
    """Yield changes of the node's own fields."""
    if isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right):
        if type(node.op) in _OPERATORS:
            yield _Change(node, "op", None, _OPERATORS[type(node.op)](), node)
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in _OPERATORS and not _is_text(node.value):
            yield _Change(node, "op", None, _OPERATORS[type(node.op)](), node)
    elif isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            for other in _COMPARISONS[type(op)]:
                yield _Change(node, "ops", place, other(), node)
    elif isinstance(node, ast.BoolOp):
        yield _Change(node, "op", None, ast.Or() if isinstance(node.op, ast.And) else ast.And(), node)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(
        node.test, (ast.Name, ast.Attribute, ast.Call)
    ):
        yield _Change(node, "test", None, ast.UnaryOp(ast.Not(), node.test), node)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _NAMES:
            yield _Change(node.func, "id", None, _NAMES[node.func.id], node)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _NAMES:
            yield _Change(node.func, "attr", None, _NAMES[node.func.attr], node)
        elif isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
            last = min(len(node.args), 2) - 1
            if not isinstance(node.args[last], ast.Constant):
                fewer = ast.BinOp(node.args[last], ast.Sub(), ast.Constant(1))
                yield _Change(node, "args", last, fewer, node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id.islower():
        moved = ast.BinOp(node.slice, ast.Sub(), ast.Constant(1))
        yield _Change(node, "slice", None, moved, node)


def _replaced(
    owner: ast.AST, field: str, place: int | None, part: ast.AST, around: ast.AST
) -> Iterator[_Change]:
    """Yield changes that put something else in the place of `part`."""
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, (ast.USub, ast.Not)):
        yield _Change(owner, field, place, part.operand, around)
    elif isinstance(part, ast.Constant) and type(part.value) in (int, float, bool):
        yield _Change(owner, field, place, ast.Constant(_other(part.value)), around)
    elif _is_effect(part):
        yield _Change(owner, field, place, ast.Pass(), part)


def _other(value: float) -> float:
    if isinstance(value, bool):
        return not value
    if isinstance(value, float) and not 0.01 <= value < 1e9 and value:
        return 2.0 * value  # one more would be far too much, or nothing
    return value + 1


def _is_effect(part: ast.AST) -> bool:
    """Tell whether the statement can be dropped and the rest still runs: it changes something elsewhere."""
    if isinstance(part, ast.Expr):
        return isinstance(part.value, ast.Call)
    if isinstance(part, ast.Assign):
        return all(isinstance(target, (ast.Subscript, ast.Attribute)) for target in part.targets)
    return isinstance(part, ast.AugAssign)


def _is_a_guard(part: ast.AST) -> bool:
    """Tell whether it only says what can never be: an error and its words, or `strict=True`."""
    return isinstance(part, (ast.Raise, ast.Assert)) or (
        isinstance(part, ast.keyword) and part.arg == "strict"
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _first_line(node: ast.AST) -> str:
    """Return the code in one line; of a function, its name and what its parameters are set to."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        of = node.args
        names = [*of.posonlyargs, *of.args][::-1]
        pairs = [*zip(names, of.defaults[::-1], strict=False)][::-1]
        pairs += [(name, value) for name, value in zip(of.kwonlyargs, of.kw_defaults, strict=True) if value]
        return f"def {node.name}({', '.join(f'{name.arg}={ast.unparse(value)}' for name, value in pairs)})"
    return ast.unparse(node).splitlines()[0]


def _never_runs(test: ast.AST) -> bool:
    """Tell whether the branch is not for tests: for type checkers, or `python -m`."""
    return ast.unparse(test) in ("TYPE_CHECKING", "__name__ == '__main__'")
