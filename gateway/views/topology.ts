import type { WireTopology } from '#openapi/wire/lookup.ts'

/** Guests here have no threads that are each other's siblings. `showsHost`: which of the host's CPUs and nodes it has. */
export function topologyView(topology: WireTopology | null, showsHost: boolean) {
  return {
    nodes: (topology?.nodes ?? []).map(({ vcpus, memoryMb, hostNode, pins }) => ({
      memory_mb: memoryMb,
      siblings: [],
      vcpu_set: vcpus,
      ...(showsHost && {
        ...(hostNode !== null && { host_node: hostNode }),
        cpu_pinning: Object.fromEntries(pins.map((cpu, index) => [String(vcpus[index]), cpu])),
      }),
    })),
    pagesize_kb: topology?.pageKib ?? null,
  }
}
