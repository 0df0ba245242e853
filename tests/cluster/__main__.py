"""The command `./scripts/check cluster`: run scenarios, or with `--serve` a cluster to look at."""

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Sequence

from tests.cluster.cluster import Cluster
from tests.cluster.findings import Finding, Given
from tests.cluster.scenarios import SCENARIOS


async def show() -> None:
    """Run a cluster until Ctrl-C or SIGTERM."""
    print("Setting up …", flush=True)
    async with Cluster() as cluster:
        key, _ = await cluster.key("to look at")
        address = f"https://localhost:{cluster.proxy.port}"
        point = "lat=48.8566&lng=2.3522"
        print(f"The proxy:      {address}/")
        for part in (*cluster.replicas, cluster.providers):
            print(f"{part.name + ':':<15} http://127.0.0.1:{part.port}/")
        print(f"PostgreSQL:     {cluster.postgresql.url}")
        print(f"Redis:          {cluster.redis.url}")
        print(f"Logs:           {cluster.folder}/*/log")
        print(f"An API key:     {key}\n")
        print(f"  curl --cacert {cluster.proxy.certificate} \\")
        print(f'    -H "Authorization: Bearer {key}" "{address}/v1/pulse/guide?{point}"')
        print("Ctrl-C ends it, and removes all that it made.", flush=True)
        await asyncio.Event().wait()


async def check(names: Sequence[str], given: Given) -> bool:
    """Run scenarios and print a row for each; whether all held."""
    all_held, wide = True, max(map(len, SCENARIOS))
    for name in names or SCENARIOS:
        began = time.monotonic()
        try:
            finding = await SCENARIOS[name].finding(given)
        except (OSError, RuntimeError) as error:  # such as a part that did not start
            finding = Finding(False, f"could not be tried: {error}")
        seconds = round(time.monotonic() - began)
        word = "holds" if finding.held else "FAILS"
        print(f"{name:<{wide}}  {word}  {seconds:>4} s  {finding.seen}", flush=True)
        all_held = all_held and finding.held
    return all_held


def main() -> None:
    about = "\n".join(f"  {name:<20} {one.claim}" for name, one in SCENARIOS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/check cluster",
        description=__doc__,
        epilog=f"scenarios:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="all by default")
    parser.add_argument("--serve", action="store_true", help="run the cluster until Ctrl-C")
    parser.add_argument("--pause", type=float, default=Given().pause, help="seconds between steps")
    parser.add_argument("--rate", type=float, default=Given().rate, help="requests a second")
    given = parser.parse_args()
    if unknown := set(given.scenarios) - set(SCENARIOS):
        parser.error(f"unknown scenarios: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that all parts are ended
    try:
        if given.serve:
            asyncio.run(show())
        elif not asyncio.run(check(given.scenarios, Given(given.pause, given.rate))):
            sys.exit(1)
    except KeyboardInterrupt:
        print("Ended.")


if __name__ == "__main__":
    main()
