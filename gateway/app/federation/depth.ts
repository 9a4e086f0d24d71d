import pLimit from 'p-limit'
import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'
import { reachable } from '../hosts/host-state.ts'
import type { ChainDeps } from './chain.ts'

const AT_ONCE = 16

/** The clouds that servers may be sent down to from here. */
export interface Depth {
  /** The most there are below each other. */
  readonly depth: number
  /** False where some did not answer. */
  readonly isWhole: boolean
}

/**
 * How deep the nested clouds go, for a question that came through cells of other clouds. Throws `conflict` where it would come
 * to one of those again: then the clouds form a ring.
 */
export async function depthBelow(
  deps: ChainDeps,
  work: WorkContext,
  via: readonly string[],
): Promise<Depth> {
  const hosts = (await listHosts(deps.db)).filter(({ view }) => view.capabilities.includes('below'))
  const answers = await pLimit(AT_ONCE).map(hosts, (host) => depthOf(deps, work, host, via))
  return {
    depth: Math.max(0, ...answers.map(({ depth }) => depth)),
    isWhole: answers.every(({ isWhole }) => isWhole),
  }
}

async function depthOf(
  { cells, askHost }: ChainDeps,
  work: WorkContext,
  { cellId, view }: HostRecord,
  via: readonly string[],
): Promise<Depth> {
  try {
    const cell = reachable(cells.cell(cellId))
    const asked = { via: [...via] }
    return await askHost(cell, view.hostId as HostId, 'clouds-below', asked, work)
  } catch (error) {
    if (!isFailure(error) || error.kind === 'conflict') throw error
    return { depth: 1, isWhole: false }
  }
}
