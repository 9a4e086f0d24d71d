import { type HostId, newId } from '#common/ids.ts'
import type { HostView } from '#openapi/wire/host.ts'

/** A host as a cell shows it: up, enabled, with 8 CPUs, 16 GiB and 100 GB, of which 2, 1 GiB and 10 GB are used. */
export function sampleHost(name: string, changed: Partial<HostView> = {}): HostView {
  return {
    hostId: newId<HostId>(),
    version: 1,
    name,
    zone: 'nova',
    driver: 'fake',
    simulated: true,
    capabilities: ['pause', 'consoleLog'],
    isUp: true,
    down: null,
    isDisabled: false,
    disabledReason: null,
    isForcedDown: false,
    lastSeenAt: Date.UTC(2026, 10, 21, 7, 30),
    startedAt: Date.UTC(2026, 10, 21, 7, 0),
    inventory: {
      vcpus: 8,
      memoryMb: 16_384,
      diskGb: 100,
      hypervisor: { type: 'fake', version: 1_000_000, hostname: `${name}.example` },
      architecture: 'x86_64',
      cpu: {
        vendor: 'AMD',
        model: 'EPYC',
        features: ['sse2'],
        topology: { sockets: 1, cores: 8, threads: 1 },
      },
      imageFormats: ['raw'],
      traits: [],
    },
    ratios: { vcpus: 16, memoryMb: 1.5, diskGb: 1 },
    used: { vcpus: 2, memoryMb: 1_024, diskGb: 10, instances: 1 },
    metadata: {},
    isDeleted: false,
    ...changed,
  }
}
