import gc
import os
import signal

# A background process or one under nohup ignores SIGINT, and the programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No test may reach a model hub; tests of the hub's code set up their own server.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from support.checked_calls import check_calls

check_calls()

from hypothesis import settings  # noqa: E402

# The duration of an example depends on the load of the machine.
settings.register_profile("headscope", deadline=None)
settings.load_profile("headscope")

# Each process starts one browser, which the tests of all folders share.
from support.browser import browser, visit_file  # noqa: E402
from support.quick import Quick  # noqa: E402

__all__ = ["browser", "visit_file"]


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out what is slow, and most of a test's many cases")
    parser.addoption("--sample", type=int, metavar="SEED", help="run a seeded sample of the cases and slow tests")


def pytest_configure(config):
    # Imported modules and collected tests live to the end; walking them for cycles takes a tenth of the time.
    gc.set_threshold(20_000, 20, 20)
    config.pluginmanager.register(Quick(config))


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
