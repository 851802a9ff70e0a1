"""Simulations: run policies many times in worlds whose best arm is known, and count their mistakes.

`simulation` is the public function. It makes a plan (`simulation_plan`), which `chunk_runner` divides into
chunks of replications. An engine runs each chunk on threads, on an executor or on a GPU, and returns sums
over its replications (`replication_sums`). The total becomes a `study`.
"""
