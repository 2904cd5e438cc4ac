"""What the tests of hardening print at their end is what `benchmarks/hardening_lab/tried.py` counts."""

import sys
from pathlib import Path

LAB = Path(__file__).parents[2] / "benchmarks" / "hardening_lab"


def test_counts_are_read_from_the_end_of_a_run(monkeypatch):
    monkeypatch.syspath_prepend(str(LAB))
    monkeypatch.delitem(sys.modules, "results", raising=False)
    from tried import counted

    ran = "x.py ..  [100%]\n12 not this\n=== tried ===\n    1,200 damaged files\n       20 forged cookies\n"
    assert counted(f"{ran}=== 2 passed, 1 skipped in 3.20s ===") == {
        "tests passed": 2,
        "damaged files": 1200,
        "forged cookies": 20,
    }
    assert counted("=== 3 passed in 1.0s ===") == {"tests passed": 3}
