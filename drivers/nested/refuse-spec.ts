import { Failure } from '#common/errors.ts'
import type { InstanceSpec } from '../driver.ts'
import type { NestedHost } from './host.ts'
import { markerKey, viaOf } from './names.ts'

/** Throws for a server that must not go to the nested cloud: of a project not let in, going round, or too deep. */
export function refuseSpec({ owner, settings }: NestedHost, spec: InstanceSpec): void {
  const { projects, hopsMax } = settings
  const { metadata } = spec.asked
  if (!projects.includes('any') && !projects.includes(spec.projectId))
    throw new Failure('forbidden', 'This project may not use the cloud of this host.')
  if (markerKey(owner) in metadata)
    throw new Failure(
      'conflict',
      'This server came through this host before: its clouds form a ring.',
    )
  if (viaOf(metadata).length >= hopsMax)
    throw new Failure('invalid', `A server goes through at most ${hopsMax} clouds.`)
}
