"""What `--certificate` writes: by which expression every element is made."""

from __future__ import annotations

import json

from allreduce_gen.checks import certify
from allreduce_gen.diagnostics import SCHEMA_VERSION
from allreduce_gen.kernel import Kernel


def format_certificate(kernel: Kernel) -> str:
    """The certificate as JSON: per range, the expression and every rank's hash."""
    ranges = [
        {
            "output": one.output,
            "start": one.start,
            "stop": one.stop,
            "expression": one.expression,
            "ranks_agree": one.agrees,
            "sha256": list(dict.fromkeys(one.digests)),
        }
        for one in certify(kernel.trace)
    ]
    data = {
        "schema_version": SCHEMA_VERSION,
        "kernel": kernel.spec.name,
        "num_ranks": kernel.spec.num_ranks,
        "ranges": ranges,
    }
    return json.dumps(data, indent=2) + "\n"
