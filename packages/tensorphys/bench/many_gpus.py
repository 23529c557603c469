"""One job in one process and in several over torch.distributed: gloo on CPUs, NCCL with a GPU a process; the results are compared.

python packages/tensorphys/bench/many_gpus.py [--processes 1,2] [--environments 256] [--steps 200] [--device cpu|cuda]
    [--robot ant]

The environments are dealt out in runs of equal length; each process builds its own alone, pushes joints by what the global
number of an environment says, and steps. States are gathered by rank 0, and must be those of one process bit for bit. See
`docs/many_gpus.md`. With fewer GPUs than processes, CUDA is refused.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def share(count: int, rank: int, processes: int) -> tuple[int, int]:
    """First environment of a process, and the one behind its last."""
    return count * rank // processes, count * (rank + 1) // processes


def pushes(count: int, width: int) -> npt.NDArray[np.float32]:
    """Actuation of every environment of the job [N m], shape [count, width]."""
    return np.random.default_rng(11).uniform(-0.3, 0.3, (count, width)).astype(np.float32)


def work(rank: int, processes: int, options: argparse.Namespace, port: int, target: str) -> None:
    """One process: simulate a share, and gather the states."""
    import torch
    import torch.distributed as dist
    from peer_robots import load

    import tensorphys
    from tensorphys_scene import replicate

    on_cuda = options.device.startswith("cuda")
    device = f"cuda:{rank}" if on_cuda else "cpu"
    if on_cuda:
        torch.cuda.set_device(rank)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("nccl" if on_cuda else "gloo", rank=rank, world_size=processes)
    first, end = share(options.environments, rank, processes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = replicate(load(options.robot), end - first)
        sim = tensorphys.create_simulation_view("torch", scene=scene, device=device)
    view = sim.create_articulation_view(options.pattern)
    push = pushes(options.environments, view.max_dofs)[first:end]
    view.set_dof_actuation_forces(torch.as_tensor(push, device=device), None)
    sim.step(0.005)
    dist.barrier()
    start = time.perf_counter()
    for _ in range(options.steps - 1):
        sim.step(0.005)
    if on_cuda:
        torch.cuda.synchronize()
    took = time.perf_counter() - start
    state = torch.cat(
        (view.get_root_transforms(), view.get_root_velocities(), view.get_dof_positions()), dim=1
    )
    # shares differ by one environment at most: all send as many rows
    rows = -(-options.environments // processes)
    sent = torch.zeros((rows, state.shape[1]), dtype=state.dtype, device=device)
    sent[: end - first] = state
    received = [torch.empty_like(sent) for _ in range(processes)]
    dist.all_gather(received, sent)
    if rank == 0:
        bounds = [share(options.environments, k, processes) for k in range(processes)]
        whole = [part[: b - a].cpu().numpy() for part, (a, b) in zip(received, bounds, strict=True)]
        np.savez(target, state=np.concatenate(whole), seconds=took)
    dist.destroy_process_group()


def run(processes: int, options: argparse.Namespace) -> dict[str, Any]:
    """The job in some processes."""
    import torch.multiprocessing as mp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "found.npz")
        mp.spawn(work, (processes, options, port, target), nprocs=processes)
        with np.load(target) as found:
            return {name: found[name] for name in found.files}


def main() -> int:
    """Run and compare; returns 1 if results differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--environments", type=int, default=256)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--robot", default="ant")
    parser.add_argument("--pattern", default="/World/envs/*/ant/Geometry/torso")
    options = parser.parse_args()
    counts = [int(count) for count in options.processes.split(",")]
    if options.device == "cuda":
        import torch

        if torch.cuda.device_count() < max(counts):
            raise SystemExit(f"{max(counts)} processes need as many GPUs, found {torch.cuda.device_count()}")
    found = [run(count, options) for count in counts]
    same = True
    for count, result in zip(counts, found, strict=True):
        equal = found[0]["state"].tobytes() == result["state"].tobytes()
        same &= equal
        rate = options.environments * (options.steps - 1) / float(result["seconds"])
        sys.stdout.write(
            f"{count} processes on {options.device}: {options.environments} environments, {rate:.0f} environment-steps/s, "
            f"{'the bits of the first' if equal else 'DIFFERENT from the first'}\n"
        )
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
