"""Program that runs code cells in a real Jupyter kernel. It requires `jupyter_client` and `ipykernel`.

It reads a JSON list of cells from standard input. Each cell has a `source`, and `interrupt_at` if the kernel shall be
interrupted when an output contains this text. The program writes the outputs of each cell to standard output as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_OUTPUTS = ("stream", "display_data", "update_display_data", "execute_result", "error")
_PATIENCE_S = 120


def run_cell(manager: Any, client: Any, source: str, interrupt_at: str | None) -> list[dict[str, Any]]:
    """Run one cell; return its outputs. The key `kind` of an output is the type of the Jupyter message."""
    request, outputs = client.execute(source), []
    while True:
        message = client.get_iopub_msg(timeout=_PATIENCE_S)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            return outputs
        if kind in _OUTPUTS:
            outputs.append({"kind": kind, **content})
            if interrupt_at is not None and interrupt_at in json.dumps(content):
                interrupt_at = None
                manager.interrupt_kernel()


def main() -> None:
    from jupyter_client.manager import start_new_kernel  # noqa: PLC0415 - not a package of the checkout

    manager, client = start_new_kernel(kernel_name="python3")
    try:
        cells = json.load(sys.stdin)
        json.dump([run_cell(manager, client, cell["source"], cell.get("interrupt_at")) for cell in cells], sys.stdout)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
