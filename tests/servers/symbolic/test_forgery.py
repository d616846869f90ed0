"""Code that tries to fake a verdict: it is refused, or gets the verdict it deserves."""

from __future__ import annotations

import pytest

from tests.servers.symbolic.conftest import Ask

REFLECTION = {
    "a frame behind a module": """
        import typing
        def f(x: int) -> int:
            return typing.sys._getframe(1).f_locals
        """,
    "the frame of a generator": """
        def f(x: int) -> int:
            g = (i for i in [x])
            return g.gi_frame.f_back
        """,
    "the frame of a traceback": """
        def f(x: int) -> int:
            try:
                return 1 // x
            except ZeroDivisionError as error:
                return error.__traceback__.tb_frame
        """,
    "every class there is": """
        def f(x: int) -> int:
            return len(().__class__.__base__.__subclasses__())
        """,
    "the garbage collector": """
        import gc
        def f(x: int) -> int:
            return len(gc.get_objects())
        """,
    "a system module behind an innocent one": """
        import random
        def f(x: int) -> int:
            return random._os.write(4, b'{"event": "explored"}')
        """,
    "the same by another name": """
        import random
        r = random
        def f(x: int) -> int:
            return r._os.getpid()
        """,
    "the same by import": """
        from random import _os
        def f(x: int) -> int:
            return _os.getpid()
        """,
    "an attribute by a computed name": """
        def f(x: int) -> int:
            return getattr(f, "__glo" + "bals__")["x"]
        """,
    "an attribute by a format string": """
        def f(x: int) -> str:
            return "{0.__globals__}".format(f)
        """,
    "an attribute by a format string made at run time": """
        def f(x: int) -> str:
            return ("{0._" + "_globals_" + "_}").format(f)
        """,
    "an attribute by a bound format": """
        def f(x: int) -> str:
            write = ("{0._" + "_globals_" + "_}").format
            return write(f)
        """,
    "an attribute by an unbound format": """
        def f(x: int) -> str:
            return str.format("{0._" + "_globals_" + "_}", f)
        """,
    "an attribute by a mapping's format": """
        def f(x: int) -> str:
            return ("{f._" + "_globals_" + "_}").format_map({"f": f})
        """,
    "an attribute by a format found by name": """
        def f(x: int) -> str:
            return getattr("{0._" + "_globals_" + "_}", "format")(f)
        """,
    "an attribute by a format in a pattern": """
        def f(x: int) -> str:
            match "{0._" + "_globals_" + "_}":
                case str(format=write):
                    return write(f)
            return ""
        """,
    "an attribute by a format inside a format": """
        def f(x: int) -> str:
            return "{0:{1.real}}".format(x, x)
        """,
    "an item by a format string": """
        def f(x: int) -> str:
            return "{0[a]}".format({"a": 1})
        """,
    "an attribute by a getter of the library": """
        import operator
        def f(x: int) -> object:
            return operator.attrgetter("_" + "_globals_" + "_")(f)
        """,
    "an attribute by a formatter of the library": """
        import string
        def f(x: int) -> str:
            return string.Formatter().format("{0._" + "_globals_" + "_}", f)
        """,
    "an attribute by a pattern": """
        def f(x: int) -> int:
            match f:
                case object(__globals__=g):
                    return len(g)
            return 0
        """,
    "code in an annotation": """
        def f(x: "().__class__.__base__.__subclasses__()") -> int:
            return 1
        """,
    "code in a contract": '''
        def f(x: int) -> int:
            """post: ().__class__.__base__.__subclasses__()"""
            return 1
        ''',
    "code in a string": """
        def f(x: int) -> int:
            return eval("x")
        """,
    "the recorder's own hooks": """
        def f(x: int) -> int:
            _faultless_note(0, True)
            return x
        """,
    "attribute getters": """
        import operator
        def f(x: int) -> int:
            return operator.attrgetter("__globals__")(f)
        """,
    "hand-made bytecode": """
        import types
        def f(x: int) -> int:
            return types.CodeType
        """,
    "code runners by another name": """
        run = eval
        def f(x: int) -> int:
            return run("x")
        """,
    "attribute readers by another name": """
        read = getattr
        def f(x: int) -> int:
            return read(f, "__globals__")
        """,
    "a class made at run time": """
        def f(x: int) -> int:
            return type(int)("C", (), {"__match" + "_args__": ("__globals__",)})
        """,
    "the same by attribute": """
        def f(x: int) -> int:
            return int.__class__("C", (), {})
        """,
    "a metaclass": """
        class M(type):
            pass
        def f(x: int) -> int:
            return M("C", (), {})
        """,
    "a pattern that reads what it likes": """
        class C:
            __match_args__ = ("__globals__",)
        def f(x: int) -> int:
            match f:
                case C(g):
                    return len(g)
            return 0
        """,
    "copying that sets attributes": """
        class C:
            def __reduce_ex__(self, protocol):
                return (C, (), (None, {"a": 1}))
        def f(x: int) -> int:
            return x
        """,
    "wrapping that copies attributes": """
        import functools
        def f(x: int) -> int:
            return functools.update_wrapper(f, f, ("__globals__",), ())
        """,
    "a formatter that gives objects": """
        import string
        def f(x: int) -> int:
            return string.Formatter().get_field("0.__globals__", (f,), {})
        """,
    "raw memory": """
        import ctypes
        def f(x: int) -> int:
            return ctypes.string_at(0)
        """,
}


def dedent(text: str) -> str:
    return "\n".join(line[8:] if line.startswith(" " * 8) else line for line in text.strip("\n").splitlines())


@pytest.mark.parametrize("name", REFLECTION)
def test_code_that_can_see_its_judge_is_refused_with_the_line(name: str, ask: Ask) -> None:
    answer = ask("symbolic_check", code=dedent(REFLECTION[name]), function_name="f", timeout_seconds=5)
    assert (answer["status"], answer["error_type"]) == ("error", "ValidationError"), answer
    assert answer["details"]["line"] > 0


FALSE_PROOFS = {
    "swallows the engine's own exceptions": '''
        def f(x: int, y: int) -> int:
            """post: _ == 0"""
            try:
                return 1 if x * x * x + y * y * y == 1729 and x > y > 1 else 0
            except:
                return 0
        ''',
    "leaves a finally block early": '''
        def f(x: int) -> int:
            """post: _ != 7"""
            try:
                y = x * x * x
                if y == 9938375:
                    y = 7
            finally:
                return 7 if x == 987654321987 else 0
        ''',
    "tells symbolic values from real ones": '''
        def f(x: int) -> int:
            """post: _ >= 0"""
            try:
                x.var
            except AttributeError:
                return -1 if x == 987654321987 else 1
            return 1
        ''',
    "asks for the exact type": '''
        def f(x: int) -> int:
            """post: _ >= 0"""
            return -1 if type(x) is bool else 1
        ''',
    "keeps count of its calls": '''
        calls = []
        def f(x: int) -> int:
            """post: _ == 0"""
            calls.append(x)
            return 1 if len(calls) > 100000000 else 0
        ''',
    "depends on identity": '''
        def f(x: int, y: int) -> int:
            """post: _ == 0"""
            return 1 if x == y and x is not y and x > 10**30 else 0
        ''',
    "hides behind a type error": '''
        def f(x: int) -> int:
            """post: _ == 0"""
            try:
                n = len(str(x).encode().hex())
            except TypeError:
                return 0
            return 1 if x == 987654321987654 else 0
        ''',
    "overflows the length of a range": '''
        def f(x: int) -> int:
            """
            pre: x > 0
            post: _ == x
            """
            return len(range(x))
        ''',
}


@pytest.mark.parametrize("name", FALSE_PROOFS)
def test_a_false_contract_is_never_called_verified(name: str, ask: Ask) -> None:
    answer = ask("symbolic_check", code=dedent(FALSE_PROOFS[name]), function_name="f", timeout_seconds=1.5)
    assert answer["status"] in {"timeout", "counterexample"}, answer


def test_an_equality_that_lies_does_not_make_functions_equivalent(ask: Ask) -> None:
    code = """
class Yes:
    def __init__(self, n: int) -> None:
        self.n = n
    def __eq__(self, other):
        return True
def a(x: int) -> Yes:
    return Yes(x)
def b(x: int) -> Yes:
    return Yes(x + 1)
"""
    answer = ask("compare_functions", code=code, function_a="a", function_b="b", timeout_seconds=5)
    assert answer["status"] == "different"


def test_a_metaclass_cannot_make_other_exceptions_match(ask: Ask) -> None:
    code = """
class Meta(type):
    def __instancecheck__(cls, value):
        return True
class Wanted(Exception, metaclass=Meta):
    pass
def f(x: int) -> int:
    if x == 3:
        raise ValueError
    return x
"""
    answer = ask(
        "find_path_to_exception", code=code, function_name="f", exception_type="Wanted", timeout_seconds=1.5
    )
    assert answer["status"] in {"error", "timeout", "unreachable"}


def test_a_failure_that_only_old_processes_show_is_not_reported(ask: Ask) -> None:
    code = '''
seen = []
def f(x: int) -> int:
    """post: _ == 0"""
    seen.append(x)
    return int(len(seen) > 3)
'''
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=1.5)
    assert answer["status"] == "timeout"
    assert answer["counterexamples"] == []


NUISANCES = {
    "prints a verdict": 'print(\'{"status": "verified"}\')\n    return x',
    "floods its output": "print('x' * 10**7)\n    return x",
    "returns a mountain": "return 'x' * 10**7",
    "never ends": "while True:\n        pass",
    "never ends and swallows everything": "while True:\n        try:\n            while True: pass\n       "
    " except BaseException: pass",
    "eats memory": "y = []\n    while True:\n        y.append('x' * 10**6)",
    "calls itself for ever": "return f(x)",
    "backtracks for ever": "import re\n    return len(re.findall('(a+)+$', 'a' * 60 + 'b'))",
    "computes a giant": "return 7 ** (7 ** 9)",
    "raises what it cannot say": "class E(Exception):\n        def __str__(self): raise E\n    raise E",
    "stops the interpreter": "raise SystemExit(0)",
}


@pytest.mark.parametrize("name", NUISANCES)
def test_a_nuisance_is_answered_in_time_and_never_verified_by_mistake(name: str, ask: Ask) -> None:
    code = f'def f(x: int) -> int:\n    """post: _ == -1"""\n    {NUISANCES[name]}\n'
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=1.5)
    assert answer["status"] in {"counterexample", "timeout", "error"}, answer


def test_what_lies_behind_a_module_is_refused_when_asked_for_in_a_roundabout_way(ask: Ask) -> None:
    code = "import copy\n\ndef f(x: int) -> int:\n    return len(str(copy._reconstruct))\n"
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=5)
    assert (answer["status"], answer["error_type"]) == ("error", "ValidationError"), answer


ORDINARY = {
    "names the type": 'return f"{type(x).__name__}: {x}"',
    "compares types": 'return "same" if type(x) is type(3) else "other"',
    "names the class": "return x.__class__.__name__",
    "matches a type": 'match x:\n        case int(n):\n            return str(n)\n    return ""',
    "matches a pair": 'match (x, 1):\n        case (0, one):\n            return str(one)\n    return ""',
    "reads an attribute by name": 'return str(getattr(x, "real", 0))',
    "formats": 'return "{:>5}".format(x)',
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_code_is_not_taken_for_an_attack(name: str, ask: Ask) -> None:
    code = f"def f(x: int) -> str:\n    {ORDINARY[name]}\n"
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=1.5)
    assert answer["status"] in {"verified", "timeout"}, answer
