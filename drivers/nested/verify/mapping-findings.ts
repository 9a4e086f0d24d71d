import { Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { ComputeVersions } from '../compute/compute-versions.ts'
import type { CloudFlavor } from '../map/cloud-flavor.ts'
import { listFlavors, matchFlavor, namedFlavor } from '../map/match-flavor.ts'
import { namedId } from '../map/named-id.ts'
import type { NestedSettings } from '../settings.ts'
import { type Finding, failed, finding, warning } from './finding.ts'
import { type LocalNetwork, type MappedNetwork, subnetProblems } from './mapped-subnets.ts'

/** Which flavor there each of ours is, and which of ours none is. */
export function findFlavors(
  { cloud, versions }: { readonly cloud: Cloud; readonly versions: ComputeVersions },
  settings: NestedSettings,
  ours: readonly FlavorSpec[],
  signal: AbortSignal,
): Promise<Finding> {
  return finding('flavors', async () => {
    const there = await listFlavors(cloud, versions, signal)
    refuseUnknown(settings.flavors, ours)
    const mapped = ours.map((flavor) => ({ flavor, found: mapOne(settings, flavor, there) }))
    const pairs = mapped.map(({ flavor, found }) => `${flavor.name} is ${found?.name ?? 'none'}`)
    const lacking = mapped.filter(({ found }) => found === undefined)
    const detail = pairs.join(', ')
    if (lacking.length === 0) return detail
    if (settings.makesFlavors)
      return warning(`${detail}: those are made there, which takes an administrator`)
    if (lacking.length === ours.length) return failed(`${detail}: the setting flavors names others`)
    return warning(`${detail}: boots with those are refused, unless the setting flavors names one`)
  })
}

function mapOne(
  { flavors }: NestedSettings,
  ours: FlavorSpec,
  there: readonly CloudFlavor[],
): CloudFlavor | undefined {
  const named = flavors.get(ours.id) ?? flavors.get(ours.name)
  return named === undefined ? matchFlavor(ours, there) : namedFlavor(named, there)
}

/** Throws `invalid` for a flavor of ours that is named and is not there. */
function refuseUnknown(named: NestedSettings['flavors'], ours: readonly FlavorSpec[]): void {
  for (const each of named.keys()) {
    if (ours.some(({ id, name }) => id === each || name === each)) continue
    const all = ours.map(({ name }) => name).join(', ')
    throw new Failure('invalid', `There is no flavor ${each} here to map. There are: ${all}.`)
  }
}

/** Images named by the operator are there; others are looked for, and copied where there is none, when a server wants them. */
export function findImages(
  cloud: Cloud,
  { images }: NestedSettings,
  signal: AbortSignal,
): Promise<Finding> {
  return finding('images', async () => {
    await cloud.call('image', 'GET', '/images', { query: { limit: '1' }, signal })
    for (const named of images.values()) await namedId(cloud, 'images', named, signal)
    return `${images.size} named; others by name and content, else copied`
  })
}

const Subnets = Type.Object({ subnets: Type.Array(Type.Object({ cidr: Type.String() })) })

/** Networks named by the operator are there with the subnets of ours; others are made when a server wants them. */
export function findNetworks(
  cloud: Cloud,
  { mappedNetworks }: NestedSettings,
  ours: readonly LocalNetwork[],
  signal: AbortSignal,
): Promise<Finding> {
  return finding('networks', async () => {
    for (const path of ['/networks', '/ports', '/security-groups'])
      await cloud.call('network', 'GET', path, { query: { limit: '1' }, signal })
    const mapped: MappedNetwork[] = []
    for (const [ourId, name] of mappedNetworks) {
      const id = await namedId(cloud, 'networks', name, signal)
      const asked = { query: { network_id: id }, signal }
      const { body } = await cloud.ask(Subnets, 'network', 'GET', '/subnets', asked)
      const network = ours.find((each) => each.id === ourId)
      const there = { id, name, cidrs: body.subnets.map(({ cidr }) => cidr) }
      if (network !== undefined) mapped.push({ ...network, there })
    }
    const problems = subnetProblems(mapped)
    if (problems.length > 0) return failed(problems.join(' '))
    return `${mappedNetworks.size} named; others made there as they are needed`
  })
}
