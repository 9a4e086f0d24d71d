import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { ServerRequest } from './server-request.ts'

type NeighbourHints = Pick<InstanceBuild, 'sameHost' | 'differentHost'>

/** The servers that the hints name as neighbours, wanted or not; a hint that names none is none, as in Nova. */
export function neighbourHints({
  same_host,
  different_host,
}: ServerRequest['hints']): NeighbourHints {
  const sameHost = serverIds(same_host)
  const differentHost = serverIds(different_host)
  return {
    ...(sameHost.length > 0 && { sameHost }),
    ...(differentHost.length > 0 && { differentHost }),
  }
}

function serverIds(hint: unknown): string[] {
  return [hint].flat().filter((id): id is string => typeof id === 'string' && id !== '')
}
