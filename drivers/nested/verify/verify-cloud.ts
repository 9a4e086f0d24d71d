import type { FlavorSpec } from '../../driver.ts'
import { cloudsBelow } from '../below.ts'
import { Cloud } from '../cloud/cloud.ts'
import { ComputeVersions } from '../compute/compute-versions.ts'
import type { NestedSettings } from '../settings.ts'
import { findClock, findLimits, findVersions, findZone } from './compute-findings.ts'
import { type Finding, finding, warning } from './finding.ts'
import type { LocalNetwork } from './mapped-subnets.ts'
import { findFlavors, findImages, findNetworks } from './mapping-findings.ts'
import { findRouting, type OutsideHere } from './routing-findings.ts'
import { findVolumes } from './volume-findings.ts'

/** The flavors and networks here that the cloud must serve, and the cells whose requests must not come back. */
export interface VerifiedFor {
  /** Ids of the cells of this cloud. */
  readonly cells: readonly string[]
  readonly flavors: readonly FlavorSpec[]
  /** Those that are mapped. */
  readonly networks: readonly LocalNetwork[]
  readonly outside: OutsideHere
}

/** The id of the project that the credential is for. Throws as a login does. */
export async function projectOf(settings: NestedSettings): Promise<string> {
  const cloud = new Cloud(settings, '')
  try {
    return (await cloud.access(AbortSignal.timeout(TIMEOUT_MS))).projectId
  } finally {
    await cloud[Symbol.asyncDispose]()
  }
}

const TIMEOUT_MS = 60_000

/**
 * The findings of a host with these settings at the cloud, in reading order; nothing is created there. Without a token
 * the other checks are skipped. A cloud that is this very deployment refuses the token.
 */
export async function verifyCloud(
  settings: NestedSettings,
  { cells, flavors, networks, outside }: VerifiedFor,
): Promise<readonly Finding[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const opened: Cloud[] = []
  const login = await finding('credential', async () => {
    const cloud = new Cloud(settings, cells.join(', '))
    opened.push(cloud)
    const { projectId, userId } = await cloud.access(signal)
    return `project ${projectId}, user ${userId}`
  })
  const [cloud] = opened
  if (cloud === undefined || login.result === 'failed') {
    await cloud?.[Symbol.asyncDispose]()
    return [login]
  }
  try {
    const versions = new ComputeVersions(cloud)
    const found = [
      await findVersions(cloud, versions, signal),
      await findClouds(cloud, signal),
      await findClock(cloud, signal),
      await findLimits(cloud, signal),
      await findZone(cloud, settings, signal),
      await findImages(cloud, settings, signal),
      await findNetworks(cloud, settings, networks, signal),
      await findRouting(cloud, settings, outside, signal),
      await findVolumes(cloud, settings, signal),
      await findFlavors({ cloud, versions }, settings, flavors, signal),
    ]
    return [login, ...found]
  } finally {
    await cloud[Symbol.asyncDispose]()
  }
}

/** Whether the cloud sends servers on to others, and none of those to this one. */
function findClouds(cloud: Cloud, signal: AbortSignal): Promise<Finding> {
  return finding('clouds', async () => {
    const { depth, isWhole } = await cloudsBelow(cloud, [], signal)
    const what = depth === 1 ? 'none behind it' : `${depth - 1} behind it, one after the other`
    return isWhole ? what : warning(`${what}; some do not say whether they lead back here`)
  })
}
