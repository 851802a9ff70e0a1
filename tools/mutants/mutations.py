"""The changes that the mutation tester can make to a source file.

Every change sets one field of one node of the syntax tree, so that it can be made, printed and undone.
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

# Numbers that only place or style things in a picture are not mutated, because no test may pin them: the
# numbers in files of this folder that stand in module constants or in arguments of these calls. Numbers in
# comparisons, indices and other calls inside those arguments are mutated like everywhere else.
_PICTURES = "src/tideproof/draw/"
_CANVASES = {"axes", "figure", "inset", "above", "below", "legend", "spine"}  # methods of these draw
_PRIMITIVES = {"element", "text", "line", "drawing", "scale", "new_figure", "new_subplots", "CurveStyle"}

# Changes that no user can notice are not made: how long a thread sleeps before it tries again, and how long
# it waits for another thread to end; the length of random identifiers and secrets; whether a background
# thread is a daemon; and whether a limit of time is exceeded or reached, because clocks hit none exactly.
_SLEEPS = {"sleep"}
_LENGTHS = {"token_bytes", "token_hex", "token_urlsafe", "join"}
_CLOCKS = {"time", "monotonic", "perf_counter"}


class Mutant(NamedTuple):
    """One possible change to one file.

    Attributes
    ----------
    file : path from the root of the repository.
    number : index among all changes to the file.
    line, last : first and last line of the changed code.
    text : source of the first line.
    before, after : the changed code before and after the change.
    rank : pseudo-random rank for sampling; it does not depend on other lines of the file.
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
        """Short name, which is stable while the line stays the same."""
        return self.rank[:8]


class _Change(NamedTuple):
    """One change to a syntax tree: the new value of a field of a node."""

    owner: ast.AST
    field: str
    position: int | None  # in the field, if the field is a list
    new: Any
    shown: ast.AST  # the node that is printed before and after

    def swap(self, value: Any) -> Any:
        """Set the field to `value` and return the old value."""
        if self.position is None:
            old = getattr(self.owner, self.field)
            setattr(self.owner, self.field, value)
        else:
            row = getattr(self.owner, self.field)
            old, row[self.position] = row[self.position], value
        return old


def mutants(source: str, file: str, seed: int) -> list[Mutant]:
    """Return all possible changes to a source, in the order of the syntax tree."""
    tree, lines = ast.parse(source), source.splitlines()
    styling = set(_style_numbers(tree)) if file.startswith(_PICTURES) else set()
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for number, change in enumerate(_changes(tree)):
        shown: Any = change.shown
        line, last = shown.lineno, getattr(shown, "test", shown).end_lineno
        before = _first_line(shown)
        old = change.swap(change.new)
        if old in styling:
            change.swap(old)
            continue
        after = "(nothing)" if isinstance(change.new, ast.Pass) else _first_line(shown)
        change.swap(old)
        text = lines[line - 1].strip()
        key = f"{seed} {file} {text} {before} {after}"
        seen[key] = seen.get(key, 0) + 1
        rank = hashlib.sha256(f"{key} {seen[key]}".encode()).hexdigest()
        found.append(Mutant(file, number, line, last, text, before, after, rank))
    return found


def apply_mutant(source: str, number: int) -> ast.Module:
    """Return the syntax tree of a source with one change made."""
    tree = ast.parse(source)
    change = list(_changes(tree))[number]
    change.swap(change.new)
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> list[_Change]:
    return list(_walk(tree, tree))


def _walk(node: ast.AST, shown: ast.AST) -> Iterator[_Change]:
    """Yield the changes inside a node; `shown` is the surrounding expression or statement to print."""
    if (isinstance(node, ast.If) and _never_runs(node.test)) or _is_call_of(node, _SLEEPS):
        return
    yield from _own_changes(node)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "format_spec"):
            continue
        parts = value if isinstance(value, list) else [value]
        for position, part in enumerate(parts):
            if not isinstance(part, ast.AST) or _is_a_guard(part) or _is_unnoticed(node, part):
                continue
            where = position if isinstance(value, list) else None
            around = node if isinstance(node, (ast.expr, ast.stmt)) else shown
            yield from _replacement_changes(node, field, where, part, around)
            yield from _walk(part, around)


def _style_numbers(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the numbers in a file of pictures that only place or style things."""
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value:
            yield from _numbers(statement.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_drawing(node.func):
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from _numbers(argument)


def _is_drawing(function: ast.AST) -> bool:
    """Return whether a called function is a drawing primitive: `text`, `axes.plot`, `figure.legend`."""
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id in _CANVASES
    return isinstance(function, ast.Name) and function.id in _PRIMITIVES


def _numbers(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the numbers, also negative ones, of an expression, outside of comparisons, indices and calls."""
    if isinstance(node, (ast.Compare, ast.Subscript, ast.Call)):
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        yield node
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _numbers(child)


def _own_changes(node: ast.AST) -> Iterator[_Change]:
    """Yield changes to the operators, comparisons, tests and calls of the node itself."""
    if isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right):
        if type(node.op) in _OPERATORS:
            yield _Change(node, "op", None, _OPERATORS[type(node.op)](), node)
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in _OPERATORS and not _is_text(node.value):
            yield _Change(node, "op", None, _OPERATORS[type(node.op)](), node)
    elif isinstance(node, ast.Compare):
        has_clock = any(_is_call_of(each, _CLOCKS) for each in ast.walk(node))
        for position, op in enumerate(node.ops):
            others = _COMPARISONS[type(op)]
            for other in others[1:] if has_clock and len(others) > 1 else others:
                yield _Change(node, "ops", position, other(), node)
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


def _replacement_changes(
    owner: ast.AST, field: str, position: int | None, part: ast.AST, around: ast.AST
) -> Iterator[_Change]:
    """Yield changes that replace the child `part` of a node."""
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, (ast.USub, ast.Not)):
        yield _Change(owner, field, position, part.operand, around)
    elif isinstance(part, ast.Constant) and type(part.value) in (int, float, bool):
        yield _Change(owner, field, position, ast.Constant(_other_value(part.value)), around)
    elif _is_effect(part):
        yield _Change(owner, field, position, ast.Pass(), part)


def _other_value(value: float) -> float:
    if isinstance(value, bool):
        return not value
    if isinstance(value, float) and not 0.01 <= value < 1e9 and value:
        return 2.0 * value  # adding one would change such a number too much or not at all
    return value + 1


def _is_effect(part: ast.AST) -> bool:
    """Return whether a statement only has an effect elsewhere, so that the rest still runs without it."""
    if isinstance(part, ast.Expr):
        return isinstance(part.value, ast.Call)
    if isinstance(part, ast.Assign):
        return all(isinstance(target, (ast.Subscript, ast.Attribute)) for target in part.targets)
    return isinstance(part, ast.AugAssign)


def _is_a_guard(part: ast.AST) -> bool:
    """Return whether a node only guards against errors: a raise, an assertion, or `strict=True`."""
    return isinstance(part, (ast.Raise, ast.Assert)) or (
        isinstance(part, ast.keyword) and part.arg == "strict"
    )


def _is_unnoticed(node: ast.AST, part: ast.AST) -> bool:
    """Return whether a part of a node is a pause, the length of random text, or `daemon=True`."""
    return (
        (isinstance(part, ast.Expr) and _is_call_of(part.value, _SLEEPS))
        or (isinstance(part, ast.Constant) and _is_call_of(node, _LENGTHS))
        or (isinstance(part, ast.keyword) and part.arg == "daemon")
    )


def _is_call_of(node: ast.AST, names: set[str]) -> bool:
    """Return whether a node calls a function or method with one of these names."""
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
    return name in names


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _first_line(node: ast.AST) -> str:
    """Return the first line of the code of a node; for a function, its name and default arguments."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = node.args
        names = [*arguments.posonlyargs, *arguments.args][::-1]
        pairs = [*zip(names, arguments.defaults[::-1], strict=False)][::-1]
        pairs += [
            (name, value)
            for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if value
        ]
        return f"def {node.name}({', '.join(f'{name.arg}={ast.unparse(value)}' for name, value in pairs)})"
    return ast.unparse(node).splitlines()[0]


def _never_runs(test: ast.AST) -> bool:
    """Return whether tests never run a branch: for type checkers, or `python -m`."""
    return ast.unparse(test) in ("TYPE_CHECKING", "__name__ == '__main__'")
