import type { Cloud } from '../cloud/cloud.ts'
import { cloudsBelow } from '../clouds-below.ts'
import { type Finding, finding, warning } from './finding.ts'

/** Whether the cloud sends servers on to others, and none of those to this one. */
export function findClouds(cloud: Cloud, signal: AbortSignal): Promise<Finding> {
  return finding('clouds', async () => {
    const { depth, isWhole } = await cloudsBelow(cloud, [], signal)
    const what = depth === 1 ? 'none behind it' : `${depth - 1} behind it, one after the other`
    return isWhole ? what : warning(`${what}; some do not say whether they lead back here`)
  })
}
