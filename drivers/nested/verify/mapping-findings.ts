import { isFailure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { type CloudFlavor, listFlavors, matchFlavor } from '../map/match-flavor.ts'
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
    const lacking: string[] = []
    for (const [ours, theirs] of images)
      await cloud.call('image', 'GET', `/images/${theirs}`, { signal }).catch((error: unknown) => {
        if (!isFailure(error, 'not-found')) throw error
        lacking.push(`${ours}=${theirs}`)
      })
    if (lacking.length > 0) return failed(`not there: ${lacking.join(', ')}`)
    return `${images.size} named; others by name and SHA-256, else copied`
  })
}

export function findNetworks(cloud: Cloud, signal: AbortSignal): Promise<Finding> {
  return finding('networks', async () => {
    for (const path of ['/networks', '/ports', '/security-groups'])
      await cloud.call('network', 'GET', path, { query: { limit: '1' }, signal })
    return 'made there as they are needed'
  })
}
