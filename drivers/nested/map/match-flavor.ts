import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { ComputeVersions } from '../compute/compute-versions.ts'
import type { NestedHost } from '../host.ts'
import { flavorName } from '../names.ts'
import { CloudFlavor } from './cloud-flavor.ts'

const Flavors = Type.Object({
  flavors: Type.Array(CloudFlavor),
  flavors_links: Type.Optional(Type.Array(Type.Object({ rel: Type.String() }))),
})

const PAGE_SIZE = '1000'
const PAGES_MAX = 100
const EXTRA_SPECS_SINCE = '2.61'
/** Extra specs about the hardware of guests and hosts; all others are about hosts and aggregates of a cell. */
const HARDWARE =
  /^(?:hw:|hw_|os:|pci_passthrough:|accel:|capabilities:|quota:|vmware:|resources[\w-]*:|trait[\w-]*:|(?:group_policy|hide_hypervisor_id)$)/
/** Extra specs without a scope, which compare a host's capabilities: of ours each must be in the cloud's flavor, and its own others are its operator's. */
const UNSCOPED = /^[^:]+$/

/**
 * The id of the cloud's flavor for one of ours. A mapping of the operator comes first; otherwise, among the flavors of
 * the same size, the one with the same id, the same name, or the first. Otherwise a flavor is created, if the operator
 * allows it and the cloud permits it. Throws `invalid` when there is none.
 */
export async function flavorBelow(
  { cloud, settings, versions }: NestedHost,
  flavor: FlavorSpec,
  signal: AbortSignal,
): Promise<string> {
  const named = settings.flavors.get(flavor.id) ?? settings.flavors.get(flavor.name)
  const list = () => listFlavors(cloud, versions, signal)
  if (named !== undefined) return namedFlavor(named, await list()).id
  const findMatch = async () => matchFlavor(flavor, await list())
  const make = async () => (await makeFlavor(cloud, flavor, signal)) ?? (await findMatch())
  const needed = { ...hardwareOf(flavor.extraSpecs), ...unscopedOf(flavor.extraSpecs) }
  const wanted = Object.entries(needed).map((spec) => spec.join('='))
  const mayMake = settings.makesFlavors && wanted.length === 0
  const found = (await findMatch()) ?? (mayMake ? await make() : undefined)
  if (found !== undefined) return found.id
  const specs = wanted.length === 0 ? '' : `, with ${wanted.join(', ')}`
  throw new Failure(
    'invalid',
    `The nested cloud has no flavor of the size of ${flavor.name}: ${sizeOf(flavor)}${specs}.`,
  )
}

/** The flavor that an operator named by its id or name. Throws `invalid`, with what there is instead, for none. */
export function namedFlavor(named: string, there: readonly CloudFlavor[]): CloudFlavor {
  const found = there.find(({ id }) => id === named) ?? there.find(({ name }) => name === named)
  if (found !== undefined) return found
  const all = there.map(({ name }) => name).join(', ') || 'none'
  throw new Failure('invalid', `The nested cloud has no flavor ${named}. It has: ${all}.`)
}

/** Every flavor that the project may use, with its extra specs where the cloud shows them. */
export async function listFlavors(
  cloud: Cloud,
  versions: ComputeVersions,
  signal: AbortSignal,
): Promise<readonly CloudFlavor[]> {
  const microversion = await versions.ifServed(EXTRA_SPECS_SINCE, signal)
  const flavors: CloudFlavor[] = []
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const last = flavors.at(-1)
    const query = { limit: PAGE_SIZE, ...(last !== undefined && { marker: last.id }) }
    const asked = { query, microversion, signal }
    const { body } = await cloud.ask(Flavors, 'compute', 'GET', '/flavors/detail', asked)
    flavors.push(...body.flavors)
    const hasMore = body.flavors_links?.some(({ rel }) => rel === 'next') === true
    if (!hasMore || body.flavors.length === 0) return flavors
  }
  throw new Failure('unavailable', 'The list of flavors of the nested cloud does not end.')
}

/** Among flavors of the same size and extra specs: the one with the same id, or name, or the smallest id. */
export function matchFlavor(
  flavor: FlavorSpec,
  candidates: readonly CloudFlavor[],
): CloudFlavor | undefined {
  const same = candidates
    .filter((candidate) => isSameSize(flavor, candidate) && hasSameSpecs(flavor, candidate))
    .toSorted((a, b) => a.id.localeCompare(b.id))
  return (
    same.find(({ id }) => id === flavor.id) ??
    same.find(({ name }) => name === flavor.name) ??
    same[0]
  )
}

function isSameSize(flavor: FlavorSpec, candidate: CloudFlavor): boolean {
  return (
    candidate.vcpus === flavor.vcpus &&
    candidate.ram === flavor.memoryMb &&
    candidate.disk === flavor.rootGb &&
    (candidate['OS-FLV-EXT-DATA:ephemeral'] ?? 0) === flavor.ephemeralGb &&
    Number(candidate.swap) === flavor.swapMb
  )
}

/** A flavor with a GPU or pinned CPUs does not fit a server that did not request them, and the reverse. */
function hasSameSpecs({ extraSpecs }: FlavorSpec, { extra_specs: theirs = {} }: CloudFlavor) {
  return (
    isDeepStrictEqual(hardwareOf(extraSpecs), hardwareOf(theirs)) &&
    Object.entries(unscopedOf(extraSpecs)).every(([name, value]) => theirs[name] === value)
  )
}

function hardwareOf(specs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(specs).filter(([name]) => HARDWARE.test(name)))
}

function unscopedOf(specs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(specs).filter(([name]) => UNSCOPED.test(name) && !HARDWARE.test(name)),
  )
}

function sizeOf({ vcpus, memoryMb, rootGb, ephemeralGb, swapMb }: FlavorSpec): string {
  return `${vcpus} vCPU, ${memoryMb} MiB, disks of ${rootGb} and ${ephemeralGb} GiB, swap of ${swapMb} MiB`
}

const Made = Type.Object({ flavor: CloudFlavor })

/**
 * Makes a flavor of the size in the cloud, for good: others may come to use it. Undefined where the credential may not, or
 * somebody has just made it. Nova lets only administrators.
 */
async function makeFlavor(
  cloud: Cloud,
  flavor: FlavorSpec,
  signal: AbortSignal,
): Promise<CloudFlavor | undefined> {
  const { vcpus, memoryMb: ram, rootGb: disk, ephemeralGb, swapMb: swap } = flavor
  const size = { vcpus, ram, disk, swap, 'OS-FLV-EXT-DATA:ephemeral': ephemeralGb }
  const body = { flavor: { name: flavorName(flavor), ...size } }
  try {
    const answer = await cloud.ask(Made, 'compute', 'POST', '/flavors', { body, signal })
    return answer.body.flavor
  } catch (error) {
    if (isFailure(error, 'forbidden', 'conflict')) return undefined
    throw error
  }
}
