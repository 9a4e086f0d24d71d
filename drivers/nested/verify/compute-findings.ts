import { Type } from 'typebox'
import { isOlder } from '../../api-version.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { ComputeVersions } from '../compute/compute-versions.ts'
import type { NestedSettings } from '../settings.ts'
import { type Finding, failed, finding, warning } from './finding.ts'

/** Functions that older clouds lack, with the microversion since which they exist. */
const NEEDED_SINCE = [
  ['2.19', 'descriptions'],
  ['2.37', 'servers without a network'],
  ['2.42', 'tags of network interfaces'],
  ['2.52', 'tags'],
  ['2.57', 'rebuilds'],
  ['2.90', 'host names unlike the server’s name'],
] as const
/** Beyond it somebody's clock is wrong. Ours is never compared with the cloud's in earnest. */
const CLOCK_MS = 5_000

/** The microversions of the cloud, and which functions it is too old for. */
export function findVersions(
  cloud: Cloud,
  versions: ComputeVersions,
  signal: AbortSignal,
): Promise<Finding> {
  return finding('compute', async () => {
    const newest = await versions.newest(signal)
    const lacking = NEEDED_SINCE.filter(([since]) => isOlder(newest, since)).map(([, what]) => what)
    const kind = cloud.isWeir ? 'a Weir' : 'an OpenStack'
    const what = `${kind}, up to ${newest}`
    return lacking.length === 0 ? what : warning(`${what}: too old for ${lacking.join(', ')}`)
  })
}

/** The difference between the cloud's clock and ours. */
export function findClock(cloud: Cloud, signal: AbortSignal): Promise<Finding> {
  return finding('clock', async () => {
    const { headers } = await cloud.ask(Type.Unknown(), 'compute', 'GET', '/', { signal })
    const time = Date.parse(String(headers['date']))
    if (Number.isNaN(time))
      return warning('it does not tell the time: changes are asked for since the newest there is')
    const aheadMs = time - Date.now()
    const what = `${(Math.abs(aheadMs) / 1_000).toFixed(0)} s ${aheadMs < 0 ? 'behind' : 'ahead'}`
    return Math.abs(aheadMs) > CLOCK_MS ? warning(what) : what
  })
}

/** Of `GET /limits`. -1: no limit. */
const Limits = Type.Object({
  limits: Type.Object({ absolute: Type.Record(Type.String(), Type.Number()) }),
})

const LIMITS = [
  ['servers', 'maxTotalInstances', 'totalInstancesUsed'],
  ['cores', 'maxTotalCores', 'totalCoresUsed'],
  ['MiB', 'maxTotalRAMSize', 'totalRAMUsed'],
] as const

/** The room that the limits of the project leave. */
export function findLimits(cloud: Cloud, signal: AbortSignal): Promise<Finding> {
  return finding('limits', async () => {
    const { body } = await cloud.ask(Limits, 'compute', 'GET', '/limits', { signal })
    const left = LIMITS.map(([what, max, used]) => {
      const limit = body.limits.absolute[max] ?? -1
      const free = limit < 0 ? undefined : Math.max(0, limit - (body.limits.absolute[used] ?? 0))
      return { free, text: free === undefined ? `any ${what}` : `${free} of ${limit} ${what}` }
    })
    const detail = `free: ${left.map(({ text }) => text).join(', ')}`
    return left.some(({ free }) => free === 0) ? warning(detail) : detail
  })
}

const Zones = Type.Object({
  availabilityZoneInfo: Type.Array(
    Type.Object({
      zoneName: Type.String(),
      zoneState: Type.Object({ available: Type.Boolean() }),
    }),
  ),
})

/** Whether the cloud has the zone of the settings. */
export function findZone(
  cloud: Cloud,
  { zone }: NestedSettings,
  signal: AbortSignal,
): Promise<Finding> {
  return finding('zone', async () => {
    const path = '/os-availability-zone'
    const { body } = await cloud.ask(Zones, 'compute', 'GET', path, { signal })
    const names = body.availabilityZoneInfo
      .filter(({ zoneState }) => zoneState.available)
      .map(({ zoneName }) => zoneName)
    const all = `it has ${names.join(', ') || 'none'}`
    if (zone === undefined) return `wherever the cloud likes; ${all}`
    return names.includes(zone) ? zone : failed(`${zone} is not there; ${all}`)
  })
}
