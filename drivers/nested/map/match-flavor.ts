import { Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { NestedHost } from '../host.ts'
import { CloudFlavor } from './cloud-flavor.ts'
import { makeFlavor } from './make-flavor.ts'

const Flavors = Type.Object({ flavors: Type.Array(CloudFlavor) })

const PAGE_SIZE = '1000'

/**
 * The id of the cloud's flavor for one of ours: the one the operator named, else among those of the same size the one of
 * the same id, of the same name, or the first; else one that is made there, if the operator said so and the cloud lets us.
 * Throws `invalid` when there is none.
 */
export async function flavorBelow(
  { cloud, settings }: NestedHost,
  flavor: FlavorSpec,
  signal: AbortSignal,
): Promise<string> {
  const named = settings.flavors.get(flavor.id) ?? settings.flavors.get(flavor.name)
  if (named !== undefined) return named
  const look = async () => matchFlavor(flavor, await listFlavors(cloud, signal))
  const make = async () => (await makeFlavor(cloud, flavor, signal)) ?? (await look())
  const found = (await look()) ?? (settings.makesFlavors ? await make() : undefined)
  if (found !== undefined) return found.id
  throw new Failure(
    'invalid',
    `The cloud below has no flavor of the size of ${flavor.name}: ${sizeOf(flavor)}.`,
  )
}

export async function listFlavors(
  cloud: Cloud,
  signal: AbortSignal,
): Promise<readonly CloudFlavor[]> {
  const { body } = await cloud.ask(Flavors, 'compute', 'GET', '/flavors/detail', {
    query: { limit: PAGE_SIZE },
    signal,
  })
  return body.flavors
}

export function matchFlavor(
  flavor: FlavorSpec,
  candidates: readonly CloudFlavor[],
): CloudFlavor | undefined {
  const same = candidates
    .filter((candidate) => isSameSize(flavor, candidate))
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

function sizeOf({ vcpus, memoryMb, rootGb, ephemeralGb, swapMb }: FlavorSpec): string {
  return `${vcpus} vCPU, ${memoryMb} MiB, disks of ${rootGb} and ${ephemeralGb} GiB, swap of ${swapMb} MiB`
}
