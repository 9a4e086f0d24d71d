import type { DockerHost } from '../host.ts'
import { ownFilter } from '../names.ts'

/** Of what `GET /containers/json` answers per container, what the driver reads. */
export interface ListedContainer {
  readonly Id: string
  readonly Names: readonly string[]
  readonly State: string
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, unknown>> }
}

/** Every container that carries this owner's labels, running or not. */
export async function listOwnContainers(
  { engine, owner }: Pick<DockerHost, 'engine' | 'owner'>,
  signal: AbortSignal,
): Promise<readonly ListedContainer[]> {
  const query = { all: '1', filters: ownFilter(owner) }
  return engine.call<readonly ListedContainer[]>('GET', '/containers/json', { query, signal })
}
