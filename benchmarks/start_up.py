"""Start-up: `headscope --help` (target 0.5 s) and `import headscope` (target 0.3 s, without torch)."""

import statistics
import subprocess
import sys
import time
from pathlib import Path


def median_seconds(command: list[str], *, rounds: int = 7) -> float:
    """Run a command repeatedly; return the median of its wall times, without the first."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


if __name__ == "__main__":
    script = str(Path(sys.executable).with_name("headscope"))
    empty = median_seconds([sys.executable, "-c", "pass"])
    print(f"python -c pass:            {empty:.3f} s")
    print(
        f"python -c import headscope: {median_seconds([sys.executable, '-c', 'import headscope']):.3f} s (target 0.3)"
    )
    print(f"headscope --help:          {median_seconds([script, '--help']):.3f} s (target 0.5)")
