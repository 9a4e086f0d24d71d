import { isFailure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { CloudFlavor } from '../map/cloud-flavor.ts'
import { listFlavors, matchFlavor } from '../map/match-flavor.ts'
import type { NestedSettings } from '../settings.ts'
import { type Finding, failed, finding, warning } from './finding.ts'

/** Which flavor there each of ours is, and which of ours none is. */
export function findFlavors(
  cloud: Cloud,
  settings: NestedSettings,
  ours: readonly FlavorSpec[],
  signal: AbortSignal,
): Promise<Finding> {
  return finding('flavors', async () => {
    const there = await listFlavors(cloud, signal)
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
  return named === undefined ? matchFlavor(ours, there) : there.find(({ id }) => id === named)
}

/** Images named by the operator are there; others are looked for, and copied where there is none, when a server wants them. */
export function findImages(
  cloud: Cloud,
  { images }: NestedSettings,
  signal: AbortSignal,
): Promise<Finding> {
  return finding('images', async () => {
    await cloud.call('image', 'GET', '/images', { query: { limit: '1' }, signal })
    const lacking = await notThere(cloud, ['image', '/images'], images, signal)
    if (lacking.length > 0) return failed(`not there: ${lacking.join(', ')}`)
    return `${images.size} named; others by name and SHA-256, else copied`
  })
}

/** Of what was named, the pairs whose second the cloud does not have. */
async function notThere(
  cloud: Cloud,
  [service, path]: readonly ['image' | 'network', string],
  named: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lacking: string[] = []
  for (const [ours, theirs] of named)
    await cloud.call(service, 'GET', `${path}/${theirs}`, { signal }).catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
      lacking.push(`${ours}=${theirs}`)
    })
  return lacking
}

/** Networks named by the operator are there; others are made when a server wants them. */
export function findNetworks(
  cloud: Cloud,
  { mappedNetworks }: NestedSettings,
  signal: AbortSignal,
): Promise<Finding> {
  return finding('networks', async () => {
    for (const path of ['/networks', '/ports', '/security-groups'])
      await cloud.call('network', 'GET', path, { query: { limit: '1' }, signal })
    const lacking = await notThere(cloud, ['network', '/networks'], mappedNetworks, signal)
    if (lacking.length > 0) return failed(`not there: ${lacking.join(', ')}`)
    return `${mappedNetworks.size} named; others made there as they are needed`
  })
}
