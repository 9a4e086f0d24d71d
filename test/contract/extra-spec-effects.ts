import { DEFAULT_FILTERS, FILTERS } from '#cells/scheduler/filters.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '#cells/scheduler/testing.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { numaRequest } from '#common/numa.ts'
import { requestedTraits } from '#common/traits.ts'
import { domainXml } from '#drivers/libvirt/domains/domain-xml.ts'
import { guestOptions } from '#drivers/libvirt/domains/guest-options.ts'
import { instanceFiles } from '#drivers/libvirt/instance-files.ts'
import { domainSubject } from '#drivers/libvirt/instance-record.ts'
import { cpuElement } from '#drivers/libvirt/placement/cpu-settings.ts'
import { placeGuest } from '#drivers/libvirt/placement/place-guest.ts'
import { seenElements } from '#drivers/libvirt/placement/placement-elements.ts'
import { requestedPlacement } from '#drivers/libvirt/placement/requested-placement.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'

export type Specs = Readonly<Record<string, string>>

/** What becomes of a server whose flavor has an extra spec. */
export type Outcome =
  | { readonly is: 'refused'; readonly by: string; readonly reason: string }
  /** The server's claims, or its guest, are not those of the same server without it. */
  | { readonly is: 'effective' }
  | { readonly is: 'the same' }

/** A driver by the extra specs that its hosts say they heed, and by what its guests are made from. */
export interface Heeding {
  readonly extraSpecs: readonly string[]
  readonly isOfMachines: boolean
  readonly guestOf: (extraSpecs: Specs) => unknown
}

const FLAVOR = { id: 'f', name: 'm1.test', vcpus: 4, memoryMb: 4_096, rootGb: 10, ephemeralGb: 0 }
/** Of two NUMA nodes, with CPUs, pages and devices to give away. */
const NODE_CPUS = [0, 1, 2, 3, 4, 5, 6, 7]
const PAGES = { 2048: 8_192, 1_048_576: 8 }
const HARDWARE = {
  PCPU: 16,
  CUSTOM_HUGEPAGE_MB: 32_768,
  CUSTOM_HUGEPAGE_2048K_MB: 16_384,
  CUSTOM_HUGEPAGE_1048576K_MB: 16_384,
  CUSTOM_PCI_GPU: 4,
}
/** Operators count what they like. */
const OWN = { CUSTOM_GOLD: 4 }
const id = newId<HostId>()
const owner = { cellId: newId<CellId>(), hostId: id }
/** One for all, so that two guests differ in nothing else. */
const spec = instanceSpec(new TestImages().add(Buffer.alloc(1)))

/**
 * What becomes of a server with this extra spec, besides others that it needs, on an otherwise empty host that has all the
 * hardware that hosts of the driver can have.
 */
export function outcomeOf(driver: Heeding, asked: Specs, besides: Specs): Outcome {
  const extraSpecs = { ...besides, ...asked }
  const request = requestOf(extraSpecs)
  for (const filter of FILTERS.filter(({ name }) => DEFAULT_FILTERS.includes(name))) {
    if (filter.concerns?.(request) === false) continue
    const reason = filter.refuse(hostOf(driver), request, FILTER_SETTINGS)
    if (reason !== undefined) return { is: 'refused', by: filter.name, reason }
  }
  try {
    return same(takenBy(driver, besides), takenBy(driver, extraSpecs))
      ? { is: 'the same' }
      : { is: 'effective' }
  } catch (error) {
    return { is: 'refused', by: 'the driver', reason: (error as Error).message }
  }
}

function requestOf(extraSpecs: Specs) {
  const flavor = { ...FLAVOR, swapMb: 0, extraSpecs }
  return placementRequest({
    extraSpecs,
    resources: flavorResources(flavor),
    traits: requestedTraits(extraSpecs, {}),
    numa: numaRequest(flavor, {}),
  })
}

function hostOf({ extraSpecs, isOfMachines }: Heeding) {
  const custom = extraSpecs.length === 0 ? OWN : { ...OWN, ...HARDWARE }
  const nodes = [0, 1].map((node) => ({ id: node, cpus: 8, dedicatedCpus: 8, memoryMb: 32_768 }))
  return hostState('a', {
    hostId: id,
    extraSpecs,
    isOfMachines,
    machineTraits: isOfMachines ? [['CUSTOM_GOLD']] : null,
    traits: ['COMPUTE_NODE', 'CUSTOM_GOLD'],
    numa: nodes.map((node) => ({ ...node, pages: PAGES })),
    limits: { vcpus: 64, memoryMb: 65_536, diskGb: 100, custom },
    aggregates: [{ id: 1, name: 'gold', metadata: { tier: 'gold' } }] as never,
  })
}

/** What the cell claims for the server, and what its driver makes the guest from. */
function takenBy({ guestOf }: Heeding, extraSpecs: Specs): unknown {
  const { resources, numa } = requestOf(extraSpecs)
  return { resources, numa, guest: guestOf(extraSpecs) }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The domain that a libvirt host of this hardware defines. */
export function libvirtGuest(extraSpecs: Specs): string {
  const subject = domainSubject({ ...spec, flavor: { ...FLAVOR, swapMb: 0, extraSpecs } })
  const asked = requestedPlacement(subject)
  const nodes = [0, 1].map((node) => ({
    id: node,
    cpus: NODE_CPUS.map((cpu) => cpu + node * NODE_CPUS.length),
    memoryMb: 32_768,
    pages: new Map(Object.entries(PAGES).map(([kib, count]) => [Number(kib), count])),
  }))
  const devices = [0, 1, 2, 3].map((fn) => {
    return { address: `0000:3b:00.${fn}`, resourceClass: 'CUSTOM_PCI_GPU' }
  })
  const dedicated = nodes.flatMap(({ cpus }) => cpus)
  const placement = placeGuest(asked, FLAVOR, { nodes, dedicated, devices, others: [] })
  return domainXml({
    ...{ id: spec.id, subject, options: guestOptions(subject), interfaces: [], owner, placement },
    ...{ files: instanceFiles('/state', spec.id), virtType: 'kvm', sharedCpus: [] },
    cpu: cpuElement(undefined, 'kvm', seenElements(asked.topology, placement)),
    ...{ start: undefined, configDrive: undefined, rescue: undefined },
  })
}
