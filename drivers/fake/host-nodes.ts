import { Failure } from '#common/errors.ts'
import { asksForDedicatedCpus } from '#common/hardware-resources.ts'
import { numaRequest } from '#common/numa.ts'
import type { InstanceSpec } from '../driver.ts'
import type { FakeHost } from './host.ts'

/**
 * For each vCPU the NUMA node of the host: as the spec says, or else the first nodes, if it matters. Throws
 * `no-capacity` for nodes that the host does not have.
 */
export function placedOnNodes(
  { settings: { numaNodes } }: FakeHost,
  { flavor, image, hostNodes }: InstanceSpec,
): { readonly hostNodes?: readonly number[] } {
  if (numaNodes === 0) return {}
  const chosen = hostNodes ?? firstNodes(flavor, image.properties)
  const missing = chosen?.find((node) => node >= numaNodes)
  if (missing !== undefined)
    throw new Failure('no-capacity', `This host has no NUMA node ${missing}.`)
  return chosen === undefined ? {} : { hostNodes: chosen }
}

function firstNodes(
  flavor: InstanceSpec['flavor'],
  image: Readonly<Record<string, string>>,
): readonly number[] | undefined {
  const asked = numaRequest(flavor, image)
  if (asked !== null) return asked.parts.flatMap(({ vcpus }, node) => vcpus.map(() => node))
  if (!asksForDedicatedCpus(flavor.extraSpecs, image)) return undefined
  return Array.from({ length: flavor.vcpus }, () => 0)
}
