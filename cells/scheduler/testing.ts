import { type HostId, newId } from '#common/ids.ts'
import type { FilterSettings } from './filter.ts'
import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'
import type { WeigherSettings } from './weigher.ts'

/** As configured unless an operator sets them. */
export const FILTER_SETTINGS: FilterSettings = {
  maxInstancesPerHost: 50,
  maxIoOpsPerHost: 8,
  isolatedHosts: [],
  isolatedImages: [],
  areIsolatedHostsRestricted: true,
  imagePropertiesPrefix: '',
  metrics: [],
}

export const WEIGHER_SETTINGS: WeigherSettings = {
  metricWeights: {},
  imagePropertyWeights: {},
  weightOfUnavailable: -10_000,
}

const SIZE = { vcpus: 16, memoryMb: 1_024, diskGb: 100 }

/** An empty QEMU host of 16 VCPUs, 1,024 MiB and 100 GiB. */
export function hostState(name: string, change: Partial<HostState> = {}): HostState {
  return {
    hostId: newId<HostId>(),
    name,
    zone: 'nova',
    isUp: true,
    isDisabled: false,
    simulated: false,
    filtersPorts: true,
    machineSegments: null,
    mappedNetworks: [],
    hypervisorType: 'QEMU',
    hypervisorVersion: 7_002_000,
    hypervisorHostname: name,
    address: null,
    architecture: 'x86_64',
    cpu: {
      vendor: 'Intel',
      model: 'Skylake',
      features: ['aes', 'avx2'],
      topology: { sockets: 1, cores: 8, threads: 2 },
    },
    traits: ['COMPUTE_NODE'],
    machineTraits: null,
    isOfMachines: false,
    numa: null,
    extraSpecs: null,
    imageProperties: null,
    hasOwnFlavors: false,
    imageFormats: ['qcow2', 'raw'],
    countedNodes: [],
    limits: SIZE,
    maxUnits: change.limits ?? SIZE,
    used: { vcpus: 0, memoryMb: 0, diskGb: 0 },
    instances: 0,
    ioOps: 0,
    buildFailures: 0,
    metrics: {},
    imagePropertyUses: new Map(),
    aggregates: [],
    ...change,
  }
}

/** A small server of project blue that may go anywhere. */
export function placementRequest(change: Partial<PlacementRequest> = {}): PlacementRequest {
  return {
    resources: { vcpus: 1, memoryMb: 128, diskGb: 1 },
    image: { diskFormat: 'qcow2', properties: {} },
    flavorName: 'm1.tiny',
    extraSpecs: {},
    traits: { required: [], forbidden: [] },
    numa: null,
    nodes: null,
    hints: {},
    projectId: 'blue',
    needsFirewall: false,
    segments: [],
    zone: null,
    requestedHost: null,
    triedHosts: new Set(),
    group: null,
    sameHosts: null,
    differentHosts: new Set(),
    storeHosts: null,
    ...change,
  }
}
