"""Projects whose tests look at what a server could have changed: each says the same however its run started.

Files below `packages/` stand for what is installed; they are on PYTHONPATH.
"""

from __future__ import annotations

_PAIR = {"packages/rich_like/__init__.py": "", "packages/rich_like/table.py": "VALUE = 1"}
_WARNS = {"packages/warns.py": "import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)"}
_READS = {"packages/reads.py": "import os\nVALUE = os.environ.get('SETTING', 'unset')"}
_HEAVY = {
    "packages/torchlike/__init__.py": "import time\ntime.sleep(0.2)\nfrom . import ops\nSEED = [0]\n",
    "packages/torchlike/ops.py": "import ctypes, decimal, fractions, statistics\nTABLE = {n: n * n for n in range(20000)}",
}

SITUATIONS: dict[str, dict[str, str]] = {
    "a submodule nobody here imported": {
        **_PAIR,
        "test_a.py": "import rich_like.table\ndef test_a(): assert rich_like.table.VALUE",
        "test_b.py": "import sys, rich_like\ndef test_b(): assert 'test_a' in sys.modules or not hasattr(rich_like, 'table')",
    },
    "a missing import": {**_PAIR, "test_a.py": "import rich_like\ndef test_a(): rich_like.table"},
    "a package that warns, and warnings are errors": {
        **_WARNS,
        "pytest.ini": "[pytest]\nfilterwarnings = error",
        "test_a.py": "import warns\ndef test_a(): pass",
    },
    "a package that warns while a test waits for it": {
        **_WARNS,
        "test_a.py": "import pytest\ndef test_a():\n    with pytest.warns(DeprecationWarning): import warns",
    },
    "the number of warnings": {
        **_WARNS,
        "test_a.py": "import warns, warnings\ndef test_a(): warnings.warn('mine')\ndef test_b(): warnings.warn('mine')",
    },
    "conftest sets a variable before the import that reads it": {
        **_READS,
        "conftest.py": "import os\nos.environ['SETTING'] = 'set'",
        "test_a.py": "import reads\ndef test_a(): assert reads.VALUE == 'set'",
    },
    "a fixture sets a variable before the import that reads it": {
        **_READS,
        "test_a.py": "def test_a(monkeypatch):\n    monkeypatch.setenv('SETTING', 'set')\n    import reads\n    assert reads.VALUE == 'set'",
    },
    "a variable that nobody set": {
        **_READS,
        "test_a.py": "import reads\ndef test_a(): assert reads.VALUE == 'unset'",
    },
    "what is loaded when a test starts": {
        **_HEAVY,
        "test_a.py": "import sys\ndef test_a(): assert not [n for n in sys.modules if n.startswith(('torchlike', 'decimal', 'sqlite3', 'xml.dom'))]",
    },
    "a lazy import": {
        "packages/lazy.py": "import importlib\ndef __getattr__(name): return importlib.import_module('heavy_' + name)",
        "packages/heavy_part.py": "VALUE = 3",
        "test_a.py": "import sys, lazy\ndef test_a():\n    assert 'heavy_part' not in sys.modules\n    assert lazy.part.VALUE == 3\n    assert 'heavy_part' in sys.modules",
    },
    "registries of the standard library": {
        "packages/registers.py": "import codecs, copyreg\nclass A: pass\ncopyreg.pickle(A, repr)\ncodecs.register(lambda name: None)",
        "test_a.py": "import copyreg\ndef test_a():\n    names = [t.__module__ for t in copyreg.dispatch_table]\n    assert 'registers' not in names\n    import registers\n    assert registers.A in copyreg.dispatch_table",
    },
    "subclasses of a base": {
        "packages/base.py": "class Base: pass",
        "packages/plugin_one.py": "import base\nclass One(base.Base): pass",
        "test_a.py": "import base\ndef test_a(): assert base.Base.__subclasses__() == []",
        "test_b.py": "import base, plugin_one\ndef test_b(): assert len(base.Base.__subclasses__()) == 1",
    },
    "abstract base classes": {
        "test_a.py": "import collections.abc\nclass Mine: pass\ndef test_a():\n    assert not issubclass(Mine, collections.abc.Sized)\n    collections.abc.Sized.register(Mine)\n    assert issubclass(Mine, collections.abc.Sized)",
    },
    "logging handlers and levels": {
        "packages/logs.py": "import logging\nlogging.getLogger('logs').addHandler(logging.NullHandler())\nlogging.basicConfig(level=30)",
        "test_a.py": "import logging\nBEFORE = 'logs' in logging.Logger.manager.loggerDict\nimport logs\ndef test_a(caplog):\n    assert not BEFORE\n    logging.getLogger('logs').warning('x')\n    assert len(caplog.records) == 1",
    },
    "logging configuration from a dictionary": {
        "conftest.py": "import logging.config\nlogging.config.dictConfig({'version': 1, 'root': {'level': 'ERROR'}})",
        "test_a.py": "import logging\ndef test_a(caplog):\n    logging.warning('quiet')\n    assert not caplog.records",
    },
    "warning filters a package left": {
        "packages/silences.py": "import warnings\nwarnings.simplefilter('ignore')",
        "test_a.py": "import warnings, silences\ndef test_a(): warnings.warn('seen?')",
    },
    "chance drawn at import": {
        "packages/drawn.py": "import random\nSTATE = random.getstate()\nrandom.seed(4)\nVALUE = random.random()",
        "test_a.py": "import random, drawn\ndef test_a(): assert drawn.VALUE == 0.23604808973743452",
    },
    "a locale set by conftest": {
        "conftest.py": "import locale\nlocale.setlocale(locale.LC_ALL, 'C')",
        "test_a.py": "import locale\ndef test_a(): assert locale.setlocale(locale.LC_ALL) == 'C'",
    },
    "flags of the interpreter": {
        "test_a.py": "import sys\ndef test_a():\n    f = sys.flags\n    assert (f.no_site, f.isolated, f.dev_mode, f.optimize, f.safe_path) == (0, 0, False, 0, False)\n    assert sys.warnoptions == []",
    },
    "the command line": {
        "test_a.py": "import sys\ndef test_a():\n    assert sys.orig_argv[1:3] == ['-m', 'pytest']\n    assert sys.argv[0].endswith('pytest/__main__.py')\n    assert sys.modules['__main__'].__spec__.name == 'pytest.__main__'",
    },
    "the frames above a test": {
        "test_a.py": "import traceback\ndef test_a():\n    files = [f.filename for f in traceback.extract_stack()]\n    assert files[:2] == ['<frozen runpy>'] * 2 or 'runpy' in files[0]\n    assert not [f for f in files if 'faultless' in f]",
    },
    "the import path and its hooks": {
        "test_a.py": "import os, sys\ndef test_a():\n    assert not [p for p in sys.path if 'faultless_pytest' in p or p.endswith('worker')]\n    assert [type(f).__name__ for f in sys.meta_path[1:]] and 'Watch' not in repr(sys.meta_path)\n    assert not [n for n in os.environ if n.startswith('FAULTLESS')]",
    },
    "functions that run at exit": {
        "conftest.py": "import atexit\natexit.register(print, 'bye')",
        "test_a.py": "import atexit\ndef test_a(): assert atexit._ncallbacks() >= 1",
    },
    "an import hook of conftest": {
        "conftest.py": "import sys, types\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n        import importlib.machinery\n        return importlib.machinery.ModuleSpec(name, self) if name == 'made_up' else None\n    def create_module(self, spec): return types.ModuleType(spec.name)\n    def exec_module(self, module): module.VALUE = 7\nsys.meta_path.insert(0, Finder())",
        "test_a.py": "import made_up\ndef test_a(): assert made_up.VALUE == 7",
    },
    "an import function replaced": {
        "conftest.py": "import builtins\nSEEN = []\nreal = builtins.__import__\ndef spy(name, *rest, **more):\n    SEEN.append(name)\n    return real(name, *rest, **more)\nbuiltins.__import__ = spy",
        "packages/late.py": "",
        "test_a.py": "import late\ndef test_a():\n    import conftest\n    assert 'late' in conftest.SEEN",
    },
    "a module loaded again": {
        "packages/counts.py": "import builtins\nbuiltins.loads = getattr(builtins, 'loads', 0) + 1",
        "test_a.py": "import builtins, importlib, counts\ndef test_a():\n    assert builtins.loads == 1\n    importlib.reload(counts)\n    assert builtins.loads == 2",
    },
    "a namespace package in two places": {
        "packages/space/one.py": "VALUE = 1",
        "space/two.py": "VALUE = 2",
        "test_a.py": "import space.one, space.two\ndef test_a(): assert len(list(space.__path__)) == 2",
    },
    "an entry point read while a test runs": {
        "packages/mine-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1\n",
        "packages/mine-1.dist-info/entry_points.txt": "[mine.things]\none = late_thing\n",
        "packages/late_thing.py": "VALUE = 5",
        "test_a.py": "import sys\nfrom importlib.metadata import entry_points\ndef test_a():\n    assert 'late_thing' not in sys.modules\n    (found,) = entry_points(group='mine.things')\n    assert found.load().VALUE == 5",
    },
    "a singleton kept at module level": {
        "packages/single.py": "class Single:\n    count = 0\nINSTANCE = Single()",
        "test_a.py": "import single\ndef test_a():\n    single.INSTANCE.count += 1\n    assert single.INSTANCE.count == 1",
    },
    "a cache filled at import": {
        "packages/cached.py": "import functools\n@functools.lru_cache\ndef find(key): return object()\nfind('a')",
        "test_a.py": "import cached\ndef test_a():\n    info = cached.find.cache_info()\n    assert (info.hits, info.misses) == (0, 1)",
    },
    "start methods of multiprocessing": {
        "test_a.py": "import multiprocessing, pytest\n@pytest.mark.parametrize('way', ['fork', 'spawn'])\ndef test_a(way):\n    context = multiprocessing.get_context(way)\n    with context.Pool(1) as pool: assert pool.map(abs, [-1]) == [1]\ndef test_b(): assert multiprocessing.get_start_method(allow_none=True) in (None, 'fork', 'forkserver')",
    },
    "an event loop policy": {
        "conftest.py": "import asyncio\nclass Policy(asyncio.DefaultEventLoopPolicy): pass\nasyncio.set_event_loop_policy(Policy())",
        "test_a.py": "import asyncio\nasync def answer(): return 42\ndef test_a():\n    assert type(asyncio.get_event_loop_policy()).__name__ == 'Policy'\n    assert asyncio.run(answer()) == 42",
    },
    "a backend chosen before the first use": {
        "packages/plotlike.py": "import os\nBACKEND = os.environ.get('PLOT_BACKEND', 'screen')\ndef use(name):\n    global BACKEND\n    BACKEND = name",
        "conftest.py": "import plotlike\nplotlike.use('file')",
        "test_a.py": "import plotlike\ndef test_a(): assert plotlike.BACKEND == 'file'",
    },
    "settings that may be made once": {
        "packages/djangolike.py": "import os\nconfigured = None\ndef setup():\n    global configured\n    if configured: raise RuntimeError('twice')\n    configured = os.environ['DJANGO_LIKE_SETTINGS']",
        "conftest.py": "import os, djangolike\nos.environ.setdefault('DJANGO_LIKE_SETTINGS', 'tests')\ndef pytest_configure(): djangolike.setup()",
        "test_a.py": "import djangolike\ndef test_a(): assert djangolike.configured == 'tests'",
    },
    "a registry of mapped classes": {
        "packages/sqllike.py": "REGISTRY = {}\nclass Model:\n    def __init_subclass__(cls):\n        if cls.__name__ in REGISTRY: raise ValueError('already mapped')\n        REGISTRY[cls.__name__] = cls",
        "test_a.py": "import sqllike\nclass User(sqllike.Model): pass\ndef test_a(): assert list(sqllike.REGISTRY) == ['User']",
    },
    "options a test changes": {
        "packages/pandalike.py": "options = {'rows': 60}",
        "test_a.py": "import pandalike\ndef test_a():\n    assert pandalike.options['rows'] == 60\n    pandalike.options['rows'] = 5",
    },
    "a heavy import": {
        **_HEAVY,
        "test_a.py": "import torchlike\ndef test_a():\n    torchlike.SEED[0] += 1\n    assert torchlike.SEED == [1] and torchlike.ops.TABLE[3] == 9",
    },
    "a database in memory": {
        "test_a.py": "import sqlite3\ndef test_a():\n    with sqlite3.connect(':memory:') as c: assert c.execute('select 1').fetchone() == (1,)",
    },
    "threads started while files are imported": {
        "conftest.py": "import threading\nDONE = threading.Event()\nthreading.Thread(target=DONE.set).start()",
        "test_a.py": "import conftest, threading\ndef test_a():\n    assert conftest.DONE.wait(10)\n    assert threading.active_count() == 1",
    },
    "files written while files are imported": {
        "conftest.py": "import os, tempfile\nPATH = tempfile.mkdtemp()\nopen(os.path.join(PATH, 'f'), 'w').write('x')",
        "test_a.py": "import conftest, os\ndef test_a(): assert os.listdir(conftest.PATH) == ['f']",
    },
    "descriptors that are open": {
        "test_a.py": "import os\ndef test_a():\n    kinds = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')]\n    assert not [k for k in kinds if k.startswith('socket:')]",
    },
    "signals": {
        "test_a.py": "import signal\ndef test_a():\n    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()\n    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)",
    },
    "a plugin in the project": {
        "conftest.py": "pytest_plugins = ['own_plugin']",
        "own_plugin.py": "import pytest\n@pytest.fixture\ndef seven(): return 7\ndef pytest_collection_modifyitems(items): items.reverse()",
        "test_a.py": "ORDER = []\ndef test_a(seven): assert seven == 7 and ORDER == [1]\ndef test_b(): ORDER.append(1)",
    },
    "a file that cannot be imported": {
        "test_a.py": "import not_there_at_all",
        "test_b.py": "def test_b(): pass",
    },
    "no tests at all": {"test_a.py": ""},
    "an option that is unknown": {
        "pytest.ini": "[pytest]\naddopts = --no-such-option",
        "test_a.py": "def test_a(): pass",
    },
    "outcomes of every kind": {
        "test_a.py": "import pytest\ndef test_a(): assert 0\n@pytest.mark.skip\ndef test_b(): pass\n@pytest.mark.xfail\ndef test_c(): assert 0\n@pytest.mark.xfail\ndef test_d(): pass\n@pytest.fixture\ndef bad(): raise ValueError\ndef test_e(bad): pass\n@pytest.fixture\ndef late():\n    yield\n    raise ValueError\ndef test_f(late): pass",
    },
    "a module skipped as a whole": {
        "test_a.py": "import pytest\npytest.importorskip('not_there_at_all')\ndef test_a(): pass",
        "test_b.py": "def test_b(): pass",
    },
    "doctests": {
        "pytest.ini": "[pytest]\naddopts = --doctest-modules",
        "product.py": "def f():\n    '''\n    >>> f()\n    2\n    '''\n    return 2\n",
    },
    "modules imported by importlib": {
        "pytest.ini": "[pytest]\naddopts = --import-mode=importlib",
        "tests/test_a.py": "import sys\ndef test_a(): assert __name__ in sys.modules",
    },
    "a session-wide fixture that is used by all": {
        "conftest.py": "import pytest\nMADE = []\n@pytest.fixture(scope='session', autouse=True)\ndef made():\n    MADE.append(1)\n    yield",
        "test_a.py": "import conftest\ndef test_a(): assert conftest.MADE == [1]",
        "test_b.py": "import conftest\ndef test_b(): assert conftest.MADE == [1]",
    },
    "a .pth file that runs code": {
        "packages/site/more.pth": "import sys; sys.said_by_pth = getattr(sys, 'said_by_pth', 0) + 1\n",
        "conftest.py": "import os, site\nsite.addsitedir(os.path.join(os.path.dirname(__file__), 'packages', 'site'))",
        "test_a.py": "import sys\ndef test_a(): assert sys.said_by_pth == 1",
    },
    "a finder put in by a plugin": {
        "packages/finding_plugin.py": "import sys\nclass Finder:\n    asked = []\n    def find_spec(self, name, path=None, target=None): self.asked.append(name)\nsys.meta_path.insert(0, Finder())",
        "packages/late.py": "",
        "pytest.ini": "[pytest]\naddopts = -p finding_plugin",
        "test_a.py": "import late, finding_plugin\ndef test_a():\n    assert 'late' in finding_plugin.Finder.asked\n    assert not [n for n in finding_plugin.Finder.asked if 'faultless' in n]",
    },
    "the versions of what is installed": {
        "packages/mine-7.dist-info/METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 7\n",
        "test_a.py": "from importlib.metadata import version, distributions\nHERE = version('mine')\ndef test_a():\n    assert HERE == '7'\n    assert not [d for d in distributions() if 'faultless_pytest' in str(d.metadata['Name'])]",
    },
    "a text encoding that the environment asks for": {
        "test_a.py": "import io, os, sys\ndef test_a():\n    assert sys.flags.utf8_mode == int(os.environ.get('PYTHONUTF8', '0'))\n    assert io.text_encoding(None) in ('locale', 'utf-8')\n    assert sys.stdin is not None",
    },
}
SMALL_SHARE = ("a missing import", "the number of warnings")
