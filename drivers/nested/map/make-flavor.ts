import { Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { flavorName } from '../names.ts'
import { CloudFlavor } from './cloud-flavor.ts'

const Made = Type.Object({ flavor: CloudFlavor })

/**
 * Makes a flavor of the size in the cloud, for good: others may come to use it. Undefined where the credential may not, or
 * somebody has just made it. Nova lets only administrators.
 */
export async function makeFlavor(
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
